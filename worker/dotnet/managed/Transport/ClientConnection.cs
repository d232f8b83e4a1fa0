// SPDX-License-Identifier: Apache-2.0

using System.Collections.Generic;
using System.IO.Pipelines;
using System.Net;
using System.Threading;
using System.Threading.Tasks;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Connections.Features;
using Microsoft.AspNetCore.Http.Features;

namespace Cohost.Worker;

/// <summary>
/// One connection, from the worker's accept to its end, which it tells. Kestrel owns and disposes
/// it; the registry refers to it until then. Thread-safe.
/// </summary>
internal sealed class ClientConnection : ConnectionContext
{
    private readonly ConnectionContext _inner;
    private readonly ConnectionRegistry _registry;

    // Requests that are between their head and their end.
    private int _requests;

    internal ClientConnection(
        ConnectionContext inner, ConnectionRegistry registry, Channel channel, EndPoint endPoint)
    {
        _inner = inner;
        _registry = registry;
        Channel = channel;
        if (channel == Channel.Internal && endPoint is IPEndPoint)
        {
            // A socketpair has no addresses; applications count on having some.
            inner.LocalEndPoint = endPoint;
            inner.RemoteEndPoint = new IPEndPoint(IPAddress.Loopback, 0);
        }
        inner.Features.Set(this);
    }

    public override string ConnectionId
    {
        get => _inner.ConnectionId;
        set => _inner.ConnectionId = value;
    }

    public override IFeatureCollection Features => _inner.Features;

    public override IDictionary<object, object?> Items
    {
        get => _inner.Items;
        set => _inner.Items = value;
    }

    public override IDuplexPipe Transport
    {
        get => _inner.Transport;
        set => _inner.Transport = value;
    }

    public override CancellationToken ConnectionClosed
    {
        get => _inner.ConnectionClosed;
        set => _inner.ConnectionClosed = value;
    }

    public override EndPoint? LocalEndPoint
    {
        get => _inner.LocalEndPoint;
        set => _inner.LocalEndPoint = value;
    }

    public override EndPoint? RemoteEndPoint
    {
        get => _inner.RemoteEndPoint;
        set => _inner.RemoteEndPoint = value;
    }

    internal Channel Channel { get; }

    internal RequestContexts RequestContexts { get; } = new();

    /// <summary>Whether it carries HTTP/2, whose clients are told in-band that it ends.</summary>
    internal bool IsMultiplexed { get; set; }

    internal int Requests => Volatile.Read(ref _requests);

    public override void Abort(ConnectionAbortedException abortReason) => _inner.Abort(abortReason);

    public override async ValueTask DisposeAsync()
    {
        await _inner.DisposeAsync().ConfigureAwait(false);
        await base.DisposeAsync().ConfigureAwait(false);
        _registry.Remove(this);
    }

    internal void RequestBegins() => Interlocked.Increment(ref _requests);

    internal void RequestEnds() => Interlocked.Decrement(ref _requests);

    /// <summary>Ends it after its running requests: HTTP/1 with `Connection: close`, HTTP/2 with
    /// GOAWAY.</summary>
    internal void RequestClose() =>
        Features.Get<IConnectionLifetimeNotificationFeature>()?.RequestClose();

    /// <summary>Ends a connection that no server took.</summary>
    internal async Task RefuseAsync()
    {
        Abort(new ConnectionAbortedException("The service does not listen any more."));
        await DisposeAsync().ConfigureAwait(false);
    }
}
