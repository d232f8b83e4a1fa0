// SPDX-License-Identifier: Apache-2.0

using System;
using System.Threading;

namespace Cohost.Worker;

/// <summary>The one thread pool of all applications: its minimum is the largest that one of them
/// asked for, its maximum is the worker's.</summary>
internal sealed class ThreadPoolLimits : IProcessPart
{
    private Limits _minimum;
    private Limits _maximum;

    public void Open(Service service)
    {
        _minimum = Minimum();
        _maximum = Maximum();
    }

    public void Close(Service service)
    {
        Limits minimum = Minimum();
        Limits maximum = Maximum();
        if (maximum != _maximum)
        {
            ThreadPool.SetMaxThreads(_maximum.Workers, _maximum.Io);
            service.Warn("ThreadPool.SetMaxThreads: not done, because the pool is its neighbours', " +
                "too; limits.concurrency limits the service");
        }
        if (minimum == _minimum) return;
        ThreadPool.SetMinThreads(
            Math.Max(minimum.Workers, _minimum.Workers), Math.Max(minimum.Io, _minimum.Io));
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
