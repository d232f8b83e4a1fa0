// SPDX-License-Identifier: Apache-2.0

using System;
using System.Threading;

namespace Cohost.Worker;

/// <summary>The one thread pool of all applications: its minimum is the largest that one of them
/// asked for, its maximum is the worker's.</summary>
internal sealed class ThreadPoolLimits : IWatchedPart
{
    private readonly Limits _maximum = Maximum();
    private Limits _minimum = Minimum();

    public bool HasChanged => Maximum() != _maximum || Minimum() != _minimum;

    public void Open(Service service)
    {
    }

    public void Close(Service service)
    {
        if (Maximum() != _maximum)
        {
            ThreadPool.SetMaxThreads(_maximum.Workers, _maximum.Io);
            service.Warn("ThreadPool.SetMaxThreads: not done, because the pool is its neighbours', " +
                "too; limits.concurrency limits the service");
        }
        Limits wish = Minimum();
        if (wish == _minimum) return;
        _minimum = new Limits(
            Math.Max(wish.Workers, _minimum.Workers), Math.Max(wish.Io, _minimum.Io));
        ThreadPool.SetMinThreads(_minimum.Workers, _minimum.Io);
    }

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
