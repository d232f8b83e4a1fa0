// SPDX-License-Identifier: Apache-2.0
namespace Telemetry;

// A list that can be waited for. Thread-safe.
internal sealed class Notes
{
    private readonly List<string> _entries = [];
    private readonly List<(int Count, TaskCompletionSource Reached)> _waiting = [];

    public void Add(string entry)
    {
        lock (_entries)
        {
            _entries.Add(entry);
            foreach (var (count, reached) in _waiting)
            {
                if (_entries.Count >= count)
                {
                    reached.TrySetResult();
                }
            }
        }
    }

    public async Task<IReadOnlyList<string>> FirstAsync(int count)
    {
        Task reached;
        lock (_entries)
        {
            var source = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
            if (_entries.Count >= count)
            {
                source.SetResult();
            }

            _waiting.Add((count, source));
            reached = source.Task;
        }

        await reached;
        lock (_entries)
        {
            return [.. _entries.Take(count)];
        }
    }
}
