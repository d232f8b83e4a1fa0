// SPDX-License-Identifier: Apache-2.0

using System.Net;
using System.Net.Sockets;
using System.Threading;
using System.Threading.Tasks;
using Xunit;

namespace Cohost.Worker.Tests;

public sealed class CountedSocketTests
{
    private (long Received, long Sent)? _counted;

    [Fact]
    public async Task BytesOfBothDirectionsAreCountedAtTheEnd()
    {
        CancellationToken cancel = TestContext.Current.CancellationToken;
        using var listener = new TcpListener(IPAddress.Loopback, 0);
        listener.Start();
        using var client = new TcpClient();
        await client.ConnectAsync((IPEndPoint)listener.LocalEndpoint, cancel);
        using Socket accepted = await listener.AcceptSocketAsync(cancel);
        using CountedSocket counted = Count(accepted);
        await client.Client.SendAsync(new byte[1000], cancel);
        for (int got = 0; got < 1000;)
            got += await counted.ReceiveAsync(new byte[1000], cancel);
        await counted.SendAsync(new byte[300], cancel);
        await counted.SendAsync(new byte[45], cancel);
        client.Client.Shutdown(SocketShutdown.Send);
        Assert.Equal(0, await counted.ReceiveAsync(new byte[1], cancel));
        counted.Dispose();
        counted.Dispose();
        Assert.Equal((1000, 345), _counted);
    }

    [Fact]
    public void AUnixSocketIsLeftOut()
    {
        using var unix = new Socket(
            AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        Count(unix).Dispose();
        Assert.Null(_counted);
    }

    // The descriptor's owner stays `socket`.
    private CountedSocket Count(Socket socket) => new(
        new SafeSocketHandle(socket.Handle, ownsHandle: false),
        (received, sent) =>
        {
            Assert.Null(_counted);
            _counted = (received, sent);
        });
}
