// SPDX-License-Identifier: Apache-2.0

using System.Threading;

namespace Cohost.Worker;

/// <summary>
/// Stands for a service in execution contexts, which may outlive it: it holds nothing but the row
/// and what the service's code has allocated. One object per service, so that entering a service
/// twice is seen as no change. Thread-safe.
/// </summary>
internal sealed class ServiceTag(int row)
{
    private long _allocatedBytes;

    internal int Row { get; } = row;

    /// <summary>By code that ran for the service, of what has ended or been interrupted.</summary>
    internal long AllocatedBytes => Interlocked.Read(ref _allocatedBytes);

    internal void Allocated(long bytes) => Interlocked.Add(ref _allocatedBytes, bytes);
}
