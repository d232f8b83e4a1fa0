// SPDX-License-Identifier: Apache-2.0

using System.Net;
using System.Threading;
using System.Threading.Channels;
using System.Threading.Tasks;
using Microsoft.AspNetCore.Connections;

namespace Cohost.Worker;

/// <summary>One bound endpoint of an application's server, which takes its connections out of here.
/// Thread-safe. Owned by the server that bound it.</summary>
internal sealed class EndpointQueue(EndPoint endPoint) : IConnectionListener
{
    private readonly Channel<ConnectionContext> _connections =
        System.Threading.Channels.Channel.CreateUnbounded<ConnectionContext>(
            new UnboundedChannelOptions { SingleReader = true });

    private volatile bool _open = true;

    public EndPoint EndPoint => endPoint;

    internal bool IsOpen => _open;

    public async ValueTask<ConnectionContext?> AcceptAsync(
        CancellationToken cancellationToken = default)
    {
        try
        {
            return await _connections.Reader.ReadAsync(cancellationToken).ConfigureAwait(false);
        }
        catch (ChannelClosedException)
        {
            return null;
        }
    }

    public ValueTask UnbindAsync(CancellationToken cancellationToken = default)
    {
        _open = false;
        _connections.Writer.TryComplete();
        return default;
    }

    public ValueTask DisposeAsync() => UnbindAsync();

    /// <summary>False: the endpoint is closed.</summary>
    internal bool TryAdd(ClientConnection connection) => _connections.Writer.TryWrite(connection);
}
