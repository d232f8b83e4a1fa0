// SPDX-License-Identifier: Apache-2.0

using System;
using System.Diagnostics;
using System.Threading;

namespace Cohost.Worker;

/// <summary>
/// Keeps one application's blocked requests from stalling its neighbours. While requests run, a
/// thread of its own asks the pool for a turn; when the pool is late although processors are idle,
/// its threads are blocked, and it gets more at once, up to one for each request. By itself it
/// would grow by one or two threads a second. The worker's lives as long as the process.
/// </summary>
/// <param name="limits">Of the pool.</param>
/// <param name="inFlight">How many requests are in applications' code now.</param>
/// <param name="log">Takes what the operator should know.</param>
internal sealed class PoolWatch(ThreadPoolLimits limits, Func<int> inFlight, Action<string> log)
    : IDisposable
{
    private static readonly TimeSpan s_interval = TimeSpan.FromMilliseconds(100);

    // A pool that is well takes a few milliseconds at most.
    private static readonly TimeSpan s_late = TimeSpan.FromMilliseconds(100);

    // How long added threads stay when they are not needed any more.
    private static readonly TimeSpan s_keep = TimeSpan.FromMinutes(1);

    private const int Step = 32;

    // No machine that a worker runs on gets better by more threads than this.
    private const int Most = 1024;

    private readonly AutoResetEvent _work = new(initialState: false);
    private volatile bool _isAwake;
    private volatile bool _isOver;
    private Thread? _thread;

    // On the thread only.
    private readonly ManualResetEventSlim _ran = new();
    private long? _addedAt;

    internal void Begin()
    {
        _thread = new Thread(Run) { IsBackground = true, Name = "cohost-pool" };
        _thread.Start();
    }

    public void Dispose()
    {
        _isOver = true;
        _work.Set();
        _thread?.Join();
        _work.Dispose();
        _ran.Dispose();
    }

    /// <summary>A request began. Cheap; any thread.</summary>
    internal void Wake()
    {
        if (_isAwake) return;
        _isAwake = true;
        _work.Set();
    }

    private void Run()
    {
        while (!_isOver)
        {
            _work.WaitOne(_addedAt is null ? Timeout.InfiniteTimeSpan : s_keep);
            Shrink();
            // Until an interval passes without a request.
            while (_isAwake && !_isOver)
            {
                _isAwake = false;
                Look();
                Shrink();
                Thread.Sleep(s_interval);
                if (inFlight() > 0) _isAwake = true;
            }
        }
    }

    private void Look()
    {
        _ran.Reset();
        TimeSpan busyBefore = Environment.CpuUsage.TotalTime;
        long start = Stopwatch.GetTimestamp();
        ThreadPool.UnsafeQueueUserWorkItem(static ran => ran.Set(), _ran, preferLocal: false);
        while (!_ran.Wait(s_late))
        {
            TimeSpan busy = Environment.CpuUsage.TotalTime - busyBefore;
            TimeSpan capacity = Stopwatch.GetElapsedTime(start) * Environment.ProcessorCount;
            // Busy processors are another matter: more threads would only make it worse.
            if (busy < capacity * 0.8) Grow();
        }
    }

    private void Grow()
    {
        int minimum = limits.Add(Step, Math.Min(inFlight() + Environment.ProcessorCount, Most));
        if (minimum == 0) return;
        if (_addedAt is null)
            log($"threads of the pool are blocked: it has at least {minimum} for a while");
        _addedAt = Stopwatch.GetTimestamp();
    }

    private void Shrink()
    {
        if (_addedAt is not { } added || Stopwatch.GetElapsedTime(added) < s_keep) return;
        _addedAt = null;
        limits.RemoveAdded();
    }
}
