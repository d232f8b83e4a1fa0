// SPDX-License-Identifier: Apache-2.0

using System;
using System.Collections.Generic;
using System.Linq;
using System.Net;
using System.Net.Sockets;
using System.Threading;
using System.Threading.Tasks;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Server.Kestrel.Transport.Sockets;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Logging.Abstractions;

namespace Cohost.Worker;

/// <summary>
/// The transport of an application's Kestrel: it opens no socket when Kestrel binds, but makes a
/// queue; connections that the worker accepted come into the queue of their endpoint. Thread-safe.
/// Owned by the service.
/// </summary>
internal sealed class ServiceTransport(
    ServiceSpec spec, ConnectionRegistry connections, ServiceCounters counters, IWorker worker)
    : IConnectionListenerFactory, IConnectionListenerFactorySelector
{
    // One for all applications: its memory and its I/O queues are shared.
    private static readonly SocketConnectionContextFactory s_connections =
        new(new SocketConnectionFactoryOptions(), NullLogger.Instance);

    // Above every port that exists: what port 0 becomes.
    private static int s_freePort = 50000;

    private readonly Lock _lock = new();

    // Guarded by _lock.
    private readonly List<EndpointQueue> _queues = [];

    private volatile EndpointQueue[] _byEndpoint = [];

    // Unix sockets that the deployment does not name stay real ones.
    public bool CanBind(EndPoint endpoint) => endpoint switch
    {
        IPEndPoint => true,
        UnixDomainSocketEndPoint unix => spec.Endpoints.Any(
            listen => listen.Address == $"http+unix:{unix}"),
        _ => false,
    };

    public ValueTask<IConnectionListener> BindAsync(
        EndPoint endpoint, CancellationToken cancellationToken = default)
    {
        if (endpoint is IPEndPoint { Port: 0 } free)
            endpoint = new IPEndPoint(free.Address, Interlocked.Increment(ref s_freePort));
        var queue = new EndpointQueue(endpoint);
        lock (_lock) _queues.Add(queue);
        return new(queue);
    }

    /// <summary>Called when a server of the application has bound all its endpoints. Nothing when
    /// they are none of ours.</summary>
    internal void MapEndpoints(EndpointInspector inspector)
    {
        EndpointQueue[] open;
        lock (_lock) open = [.. _queues.Where(queue => queue.IsOpen)];
        if (open.Length == 0) return;
        BoundEndpoint[] bound = [.. open.Select(queue => inspector.Describe(queue.EndPoint))];
        _byEndpoint = [.. EndpointChooser.Choose(spec.Endpoints, bound)
            .Select(index => open[index])];
    }

    /// <summary>Whether connections have somewhere to go.</summary>
    internal bool IsMapped => _byEndpoint.Length > 0;

    /// <summary>Takes <paramref name="handle"/> in any case.</summary>
    internal void Serve(int endpoint, SafeSocketHandle handle, Channel channel)
    {
        EndpointQueue[] queues = _byEndpoint;
        if (endpoint >= queues.Length)
        {
            handle.Dispose();
            worker.ConnectionEnded(spec.Row, channel);
            return;
        }
        EndpointQueue queue = queues[endpoint];
        ClientConnection? connection = null;
        try
        {
            connection = Connect(queue, handle, channel);
        }
        catch (Exception e) when (e is SocketException or ObjectDisposedException)
        {
            // The client was gone before it was met.
            worker.Log(spec.Row, LogLevel.Debug, Service.LogCategory, e.Message);
        }
        if (connection is null)
        {
            handle.Dispose();
            worker.ConnectionEnded(spec.Row, channel);
            return;
        }
        if (!queue.TryAdd(connection)) _ = connection.RefuseAsync();
    }

    private ClientConnection Connect(EndpointQueue queue, SafeSocketHandle handle, Channel channel)
    {
        Socket socket = channel == Channel.Client
            ? new CountedSocket(handle, counters.BytesMoved) : new Socket(handle);
        if (socket.AddressFamily != AddressFamily.Unix) socket.NoDelay = true;
        var connection = new ClientConnection(
            s_connections.Create(socket), connections, channel, queue.EndPoint);
        connections.Add(connection);
        return connection;
    }
}
