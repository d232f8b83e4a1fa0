// SPDX-License-Identifier: Apache-2.0

using System;
using System.Collections.Generic;
using System.Threading;
using System.Threading.Tasks;

namespace Cohost.Worker;

/// <summary>
/// Lets requests into one application's code: at most `concurrency` at a time, at most `queue`
/// waiting, first come first served, each until its timeout. A request that waits holds no thread.
/// One that outlives its timeout without having begun an answer is cancelled; when it does not end
/// then, it is told of as overdue, and keeps its place, because its code still runs. Thread-safe.
/// Owned by the service. `overdue` is called under its lock and does not come back.
/// </summary>
internal sealed class Admission(
    int concurrency, int queue, TimeSpan timeout, TimeProvider clock,
    Action<ServiceRequest> overdue) : IDisposable
{
    /// <summary>How long a cancelled request may take to end.</summary>
    internal static readonly TimeSpan CancelGrace = TimeSpan.FromSeconds(5);

    private readonly Lock _lock = new();
    private readonly int _concurrency = concurrency > 0 ? concurrency : int.MaxValue;

    // Guarded by _lock. A request is in one of them, or has left.
    private readonly RequestList _waiting = new();
    private readonly RequestList _working = new();
    // Its answer had begun at its timeout, or it was told of as overdue: no limit is left for it.
    private readonly RequestList _unlimited = new();
    private readonly RequestList _cancelled = new();
    private ITimer? _timer;
    // When the timer runs next; a timestamp.
    private long _timerDue = long.MaxValue;

    /// <summary>Queued: <see cref="ServiceRequest.Turn"/> gives the result.</summary>
    internal AdmissionResult TryEnter(ServiceRequest request)
    {
        lock (_lock)
        {
            if (Active < _concurrency && _waiting.Count == 0)
            {
                _working.Append(request);
                Arm();
                return AdmissionResult.Entered;
            }
            if (_waiting.Count >= queue) return AdmissionResult.Refused;
            request.BeginWait();
            _waiting.Append(request);
            Arm();
        }
        return AdmissionResult.Queued;
    }

    /// <summary>Waits for the turn of a request that was queued.</summary>
    internal async Task<AdmissionResult> WaitAsync(ServiceRequest request)
    {
        using CancellationTokenRegistration left = request.ClientLeft.UnsafeRegister(
            state => Abandon((ServiceRequest)state!), request);
        return await request.Turn.ConfigureAwait(false);
    }

    /// <summary>The request's code has ended, or is no longer to be counted: it was upgraded or
    /// streams for as long as its client likes. Called again, it does nothing.</summary>
    internal void Leave(ServiceRequest request)
    {
        lock (_lock)
        {
            if (request.List is null) return;
            request.List.Remove(request);
            EnterWaiting();
        }
    }

    internal int InFlight
    {
        get
        {
            lock (_lock) return Active;
        }
    }

    internal Boundary.ServiceGauges Gauges()
    {
        lock (_lock)
        {
            return new Boundary.ServiceGauges
            {
                InFlight = (uint)Active,
                Queued = (uint)_waiting.Count,
                OldestRequestNs = Nanoseconds(OldestUnanswered()),
                OldestQueuedNs = Nanoseconds(_waiting.First),
            };
        }
    }

    public void Dispose()
    {
        lock (_lock)
        {
            _timer?.Dispose();
            _timer = null;
        }
    }

    private int Active => _working.Count + _unlimited.Count + _cancelled.Count;

    private void EnterWaiting()
    {
        while (Active < _concurrency && _waiting.First is { } next)
        {
            _waiting.Remove(next);
            _working.Append(next);
            next.EndWait(AdmissionResult.Entered);
        }
    }

    private void Abandon(ServiceRequest request)
    {
        lock (_lock)
        {
            if (!ReferenceEquals(request.List, _waiting)) return;
            _waiting.Remove(request);
        }
        request.EndWait(AdmissionResult.Abandoned);
    }

    // A client that reads slowly does not make the service slow, so an answer that has begun does
    // not count.
    private ServiceRequest? OldestUnanswered()
    {
        foreach (RequestList list in (ReadOnlySpan<RequestList>)[_unlimited, _cancelled, _working])
        {
            foreach (ServiceRequest request in list.All())
            {
                if (!request.HasAnswer) return request;
            }
        }
        return null;
    }

    private static ulong Nanoseconds(ServiceRequest? request) =>
        request is null ? 0 : (ulong)request.Start;

    // The timer is armed while there is something to wait for. It is not moved when that ends: on
    // its next turn it sees what is left. So a service with traffic costs a timer's turn now and
    // then, not one for each request.
    private void Arm()
    {
        if (timeout <= TimeSpan.Zero) return;
        long due = Math.Min(
            Math.Min(Due(_working, timeout), Due(_waiting, timeout)),
            Due(_cancelled, timeout + CancelGrace));
        if (due >= _timerDue) return;
        _timerDue = due;
        _timer ??= clock.CreateTimer(
            static admission => ((Admission)admission!).OnTimer(), this,
            Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
        TimeSpan left = clock.GetElapsedTime(clock.GetTimestamp(), due);
        if (left < TimeSpan.Zero) left = TimeSpan.Zero;
        // Rounded up, because a timer that is early finds nothing to do.
        _timer.Change(left + TimeSpan.FromMilliseconds(1), Timeout.InfiniteTimeSpan);
    }

    private long Due(RequestList list, TimeSpan limit) => list.First is { } first
        ? first.Start + (long)(limit.TotalSeconds * clock.TimestampFrequency)
        : long.MaxValue;

    private void OnTimer()
    {
        var cancelled = new List<ServiceRequest>();
        lock (_lock)
        {
            _timerDue = long.MaxValue;
            foreach (ServiceRequest request in TakeOlder(_cancelled, timeout + CancelGrace))
            {
                _unlimited.Append(request);
                // Under the lock, so that it cannot end and make way for the next of its
                // connection.
                overdue(request);
            }
            foreach (ServiceRequest request in TakeOlder(_working, timeout))
            {
                (request.HasAnswer ? _unlimited : _cancelled).Append(request);
                if (!request.HasAnswer) cancelled.Add(request);
            }
            foreach (ServiceRequest request in TakeOlder(_waiting, timeout))
                request.EndWait(AdmissionResult.TimedOut);
            Arm();
        }
        foreach (ServiceRequest request in cancelled) _ = request.CancelAsync();
    }

    private List<ServiceRequest> TakeOlder(RequestList list, TimeSpan limit)
    {
        var taken = new List<ServiceRequest>();
        while (list.First is { } request && clock.GetElapsedTime(request.Start) >= limit)
        {
            list.Remove(request);
            taken.Add(request);
        }
        return taken;
    }
}
