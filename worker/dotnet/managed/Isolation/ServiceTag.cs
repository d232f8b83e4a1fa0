// SPDX-License-Identifier: Apache-2.0

namespace Cohost.Worker;

/// <summary>
/// Stands for a service in execution contexts, which may outlive it: it holds nothing but the row.
/// One object per service, so that entering a service twice is seen as no change.
/// </summary>
internal sealed class ServiceTag(int row)
{
    internal int Row { get; } = row;
}
