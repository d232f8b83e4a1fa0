// SPDX-License-Identifier: Apache-2.0
namespace GenericHost;

internal sealed class Counter
{
    private int _count;

    public int Next() => Interlocked.Increment(ref _count);
}
