// SPDX-License-Identifier: Apache-2.0

using System;
using System.Collections.Generic;
using System.Threading;
using Microsoft.AspNetCore.Connections;

namespace Cohost.Worker;

/// <summary>
/// The living connections of a service, and their drain: requests end with `Connection: close`,
/// idle connections are closed after a grace time, and what is left at the limit is aborted.
/// Thread-safe. Owned by the service.
/// </summary>
internal sealed class ConnectionRegistry(int row, IWorker worker)
{
    private readonly Lock _lock = new();

    // Guarded by _lock.
    private readonly HashSet<ClientConnection> _connections = [];
    private Timer? _graceTimer;
    private Timer? _limitTimer;
    // Of Environment.TickCount64, which no change of the clock moves.
    private long _graceEnd = long.MaxValue;
    private long _limitEnd = long.MaxValue;
    private bool _drained;
    private uint _cancelled;

    private volatile bool _draining;

    /// <summary>Whether answers must say that their connection closes.</summary>
    internal bool IsDraining => _draining;

    internal void Add(ClientConnection connection)
    {
        lock (_lock) _connections.Add(connection);
    }

    internal void Remove(ClientConnection connection)
    {
        lock (_lock)
        {
            if (!_connections.Remove(connection)) return;
        }
        worker.ConnectionEnded(row, connection.Channel);
        TellIfDrained();
    }

    /// <summary>Called again, it may only become shorter.</summary>
    internal void Drain(TimeSpan grace, TimeSpan limit)
    {
        long now = Environment.TickCount64;
        lock (_lock)
        {
            _draining = true;
            if (_drained) return;
            _graceEnd = Math.Min(_graceEnd, now + (long)grace.TotalMilliseconds);
            _limitEnd = Math.Min(_limitEnd, now + (long)limit.TotalMilliseconds);
            Arm(ref _graceTimer, static registry => registry.Close(_ => true), _graceEnd - now);
            Arm(ref _limitTimer, static registry => registry.AbortAll(), _limitEnd - now);
        }
        // HTTP/2 has a way to say it at once, and a request in flight says it in its answer; an
        // idle HTTP/1 connection could only be cut, perhaps while a request is on its way.
        Close(connection => connection.IsMultiplexed || connection.Requests > 0);
        TellIfDrained();
    }

    /// <summary>Cuts every connection, whatever it does.</summary>
    internal void AbortAll()
    {
        foreach (ClientConnection connection in Snapshot())
        {
            lock (_lock)
            {
                if (!_connections.Remove(connection)) continue;
                _cancelled += (uint)connection.Requests;
            }
            connection.Abort(new ConnectionAbortedException("The time to drain is over."));
            worker.ConnectionEnded(row, connection.Channel);
        }
        TellIfDrained();
    }

    private void Close(Func<ClientConnection, bool> which)
    {
        foreach (ClientConnection connection in Snapshot())
        {
            if (which(connection)) connection.RequestClose();
        }
    }

    private ClientConnection[] Snapshot()
    {
        lock (_lock) return [.. _connections];
    }

    private void TellIfDrained()
    {
        lock (_lock)
        {
            if (!_draining || _drained || _connections.Count > 0) return;
            _drained = true;
            _graceTimer?.Dispose();
            _limitTimer?.Dispose();
        }
        worker.Drained(row, _cancelled);
    }

    private void Arm(ref Timer? timer, Action<ConnectionRegistry> action, long dueMilliseconds)
    {
        timer ??= new Timer(_ => action(this));
        timer.Change(Math.Max(dueMilliseconds, 0), Timeout.Infinite);
    }
}
