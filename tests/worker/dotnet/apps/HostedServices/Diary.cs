// SPDX-License-Identifier: Apache-2.0
using System.Collections.Concurrent;

namespace HostedServices;

internal sealed class Diary
{
    private const int Expected = 6;

    private readonly ConcurrentQueue<string> _entries = [];
    private readonly TaskCompletionSource _complete = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private int _count;

    // Sorted: services run beside each other.
    public IEnumerable<string> Entries => _entries.Order(StringComparer.Ordinal);

    public Task Complete => _complete.Task;

    public void Add(string entry)
    {
        _entries.Enqueue(entry);
        if (Interlocked.Increment(ref _count) == Expected)
        {
            _complete.SetResult();
        }
    }
}
