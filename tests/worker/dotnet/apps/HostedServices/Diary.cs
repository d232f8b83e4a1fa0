// SPDX-License-Identifier: Apache-2.0
using System.Collections.Concurrent;

namespace HostedServices;

internal sealed class Diary
{
    private const int Expected = 6;

    private readonly ConcurrentQueue<string> entries = [];
    private readonly TaskCompletionSource complete = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private int count;

    // Sorted: services run beside each other.
    public IEnumerable<string> Entries => entries.Order(StringComparer.Ordinal);

    public Task Complete => complete.Task;

    public void Add(string entry)
    {
        entries.Enqueue(entry);
        if (Interlocked.Increment(ref count) == Expected)
        {
            complete.SetResult();
        }
    }
}
