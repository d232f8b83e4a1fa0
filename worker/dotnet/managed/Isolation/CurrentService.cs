// SPDX-License-Identifier: Apache-2.0

using System;
using System.Threading;

namespace Cohost.Worker;

/// <summary>
/// Which service the running code belongs to. It flows with the execution context through awaits,
/// timers, threads and the thread pool; at every switch the worker is told, so that the thread's
/// slot of the segment and its current folder are the service's, and what the thread has allocated
/// since the last switch is the former service's. Code that was started without an execution
/// context (UnsafeStart, UnsafeQueueUserWorkItem) belongs to none.
/// </summary>
internal static class CurrentService
{
    private static readonly AsyncLocal<ServiceTag?> s_tag = new(OnChanged);

    private const long NanosecondsPerMillisecond = 1_000_000;

    // What the thread had allocated when it came to its present service.
    [ThreadStatic]
    private static long s_allocatedBefore;

    internal static int Row => s_tag.Value?.Row ?? Boundary.NoService;

    /// <summary>Null: none.</summary>
    internal static ServiceTag? Tag => s_tag.Value;

    internal static void Set(ServiceTag? tag) => s_tag.Value = tag;

    private static void OnChanged(AsyncLocalValueChangedArgs<ServiceTag?> change)
    {
        if (ReferenceEquals(change.PreviousValue, change.CurrentValue)) return;
        long allocated = GC.GetAllocatedBytesForCurrentThread();
        change.PreviousValue?.Allocated(allocated - s_allocatedBefore);
        s_allocatedBefore = allocated;
        int row = change.CurrentValue?.Row ?? Boundary.NoService;
        // The monotonic clock as SteadyTime has it, a few milliseconds late: this is called twice a
        // request, and who reads it looks for seconds.
        Boundary.SetService(row, row < 0 ? 0 : Environment.TickCount64 * NanosecondsPerMillisecond);
    }
}
