// SPDX-License-Identifier: Apache-2.0

using System;
using System.Threading;

namespace Cohost.Worker;

/// <summary>The one thread pool of all applications: its minimum is the largest that one of them
/// asked for, and more while threads are blocked; its maximum is the worker's. Thread-safe.
/// </summary>
internal sealed class ThreadPoolLimits : IWatchedPart
{
    private readonly Lock _lock = new();
    private readonly Limits _maximum = Maximum();

    // Guarded by _lock: what applications asked for, and what is added for blocked threads.
    private Limits _wished = Minimum();
    private int _added;

    // Without the lock, because every request asks. A change that is just being made may be seen
    // as one: then Close finds nothing to do.
    public bool HasChanged => Maximum() != _maximum || Minimum() != Total;

    public void Open(Service service)
    {
    }

    public void Close(Service service)
    {
        lock (_lock)
        {
            if (Maximum() != _maximum)
            {
                service.Warn("ThreadPool.SetMaxThreads: not done, because the pool is its " +
                    "neighbours', too; limits.concurrency limits the service");
            }
            PutBack();
        }
    }

    /// <summary>A minimum that was asked for holds, whoever asked.</summary>
    public void PutBack()
    {
        lock (_lock)
        {
            if (Maximum() != _maximum) ThreadPool.SetMaxThreads(_maximum.Workers, _maximum.Io);
            Limits wish = Minimum();
            if (wish == Total) return;
            _wished = new Limits(
                Math.Max(wish.Workers, _wished.Workers), Math.Max(wish.Io, _wished.Io));
            Apply();
        }
    }

    /// <summary>Adds threads to the minimum, up to <paramref name="most"/> in all. The new minimum,
    /// or 0 when it is that large already.</summary>
    internal int Add(int threads, int most)
    {
        lock (_lock)
        {
            int minimum = Math.Min(Total.Workers + threads, Math.Min(most, _maximum.Workers));
            if (minimum <= Total.Workers) return 0;
            _added = minimum - _wished.Workers;
            Apply();
            return minimum;
        }
    }

    /// <summary>Back to what applications asked for. Threads that are not needed then end by
    /// themselves.</summary>
    internal void RemoveAdded()
    {
        lock (_lock)
        {
            _added = 0;
            Apply();
        }
    }

    private Limits Total => _wished with { Workers = _wished.Workers + _added };

    private void Apply() => ThreadPool.SetMinThreads(Total.Workers, Total.Io);

    private static Limits Minimum()
    {
        ThreadPool.GetMinThreads(out int workers, out int io);
        return new Limits(workers, io);
    }

    private static Limits Maximum()
    {
        ThreadPool.GetMaxThreads(out int workers, out int io);
        return new Limits(workers, io);
    }

    private readonly record struct Limits(int Workers, int Io);
}
