// SPDX-License-Identifier: Apache-2.0

using System;
using System.Net;
using System.Threading;
using System.Threading.Tasks;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Connections.Features;
using Xunit;

namespace Cohost.Worker.Tests;

public sealed class ConnectionRegistryTests
{
    private static readonly TimeSpan s_never = TimeSpan.FromDays(1);

    private readonly FakeWorker _worker = new();
    private readonly ConnectionRegistry _registry;

    public ConnectionRegistryTests() => _registry = new ConnectionRegistry(3, _worker);

    [Fact]
    public void WithoutConnectionsADrainIsOverAtOnce()
    {
        _registry.Drain(s_never, s_never);
        Assert.Equal(["drained 3 0"], _worker.Told);
    }

    [Fact]
    public async Task ADrainIsOverWithItsLastConnection()
    {
        (ClientConnection connection, _) = Connect();
        _registry.Drain(s_never, s_never);
        Assert.Empty(_worker.Told);
        await connection.DisposeAsync();
        Assert.Equal(["connection ended 3 Client", "drained 3 0"], _worker.Told);
    }

    [Fact]
    public void ARunningRequestsConnectionIsAskedToCloseAndAnIdleOneIsNot()
    {
        (_, Closing idle) = Connect();
        (ClientConnection busy, Closing busyClosing) = Connect();
        busy.RequestBegins();
        _registry.Drain(s_never, s_never);
        Assert.False(idle.WasRequested);
        Assert.True(busyClosing.WasRequested);
    }

    [Fact]
    public void AnHttp2ConnectionIsToldAtOnce()
    {
        (ClientConnection connection, Closing closing) = Connect();
        connection.IsMultiplexed = true;
        _registry.Drain(s_never, s_never);
        Assert.True(closing.WasRequested);
    }

    [Fact]
    public async Task IdleConnectionsAreClosedAfterTheGrace()
    {
        (_, Closing closing) = Connect();
        _registry.Drain(TimeSpan.Zero, s_never);
        await closing.Requested.WaitAsync(TestContext.Current.CancellationToken);
    }

    [Fact]
    public void WhatIsLeftAtTheLimitIsCutAndItsRequestsAreCounted()
    {
        (ClientConnection connection, _) = Connect();
        connection.RequestBegins();
        connection.RequestBegins();
        _registry.Drain(s_never, s_never);
        _registry.AbortAll();
        Assert.Equal(["connection ended 3 Client", "drained 3 2"], _worker.Told);
    }

    [Fact]
    public async Task ACutConnectionIsToldOfOnce()
    {
        (ClientConnection connection, _) = Connect();
        _registry.AbortAll();
        await connection.DisposeAsync();
        Assert.Equal(["connection ended 3 Client"], _worker.Told);
    }

    [Fact]
    public void AConnectionFromInsideHasAddresses()
    {
        var endPoint = new IPEndPoint(IPAddress.Loopback, 8101);
        var connection = new ClientConnection(
            new DefaultConnectionContext(), _registry, Channel.Internal, endPoint);
        Assert.Equal(endPoint, connection.LocalEndPoint);
        Assert.IsType<IPEndPoint>(connection.RemoteEndPoint);
    }

    private (ClientConnection Connection, Closing Closing) Connect()
    {
        var inner = new FakeConnection();
        var closing = new Closing();
        inner.Features.Set<IConnectionLifetimeNotificationFeature>(closing);
        var connection = new ClientConnection(
            inner, _registry, Channel.Client, new IPEndPoint(IPAddress.Loopback, 8101));
        _registry.Add(connection);
        return (connection, closing);
    }

    // The default one cancels a disposed source when it is aborted and then disposed.
    private sealed class FakeConnection : DefaultConnectionContext
    {
        public override void Abort(ConnectionAbortedException abortReason)
        {
        }
    }

    private sealed class Closing : IConnectionLifetimeNotificationFeature
    {
        private readonly TaskCompletionSource _requested = new();

        public CancellationToken ConnectionClosedRequested { get; set; }

        internal Task Requested => _requested.Task;

        internal bool WasRequested => _requested.Task.IsCompleted;

        public void RequestClose() => _requested.TrySetResult();
    }
}
