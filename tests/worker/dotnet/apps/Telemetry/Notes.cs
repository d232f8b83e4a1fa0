// SPDX-License-Identifier: Apache-2.0
namespace Telemetry;

// A list that can be waited for. Thread-safe.
internal sealed class Notes
{
    private readonly List<string> entries = [];
    private readonly List<(int Count, TaskCompletionSource Reached)> waiting = [];

    public void Add(string entry)
    {
        lock (entries)
        {
            entries.Add(entry);
            foreach (var (count, reached) in waiting)
            {
                if (entries.Count >= count)
                {
                    reached.TrySetResult();
                }
            }
        }
    }

    public async Task<IReadOnlyList<string>> FirstAsync(int count)
    {
        Task reached;
        lock (entries)
        {
            var source = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
            if (entries.Count >= count)
            {
                source.SetResult();
            }

            waiting.Add((count, source));
            reached = source.Task;
        }

        await reached;
        lock (entries)
        {
            return [.. entries.Take(count)];
        }
    }
}
