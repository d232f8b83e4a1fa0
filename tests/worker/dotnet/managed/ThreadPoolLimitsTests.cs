// SPDX-License-Identifier: Apache-2.0

using System;
using System.Threading;
using System.Threading.Tasks;
using Xunit;

namespace Cohost.Worker.Tests;

[Collection("process")]
public sealed class ThreadPoolLimitsTests : IDisposable
{
    private readonly ThreadPoolLimits _limits = new();
    private readonly int _before = Minimum();

    public void Dispose() => _limits.RemoveAdded();

    [Fact]
    public void ThreadsAreAddedUpToTheMost()
    {
        Assert.Equal(_before + 3, _limits.Add(3, most: _before + 4));
        Assert.Equal(_before + 4, _limits.Add(3, most: _before + 4));
        Assert.Equal(0, _limits.Add(3, most: _before + 4));
        Assert.Equal(_before + 4, Minimum());
    }

    [Fact]
    public void AddedThreadsAreNoChangeThatAnApplicationMade()
    {
        _limits.Add(3, most: 1000);
        Assert.False(_limits.HasChanged);
    }

    [Fact]
    public void RemovingThemGoesBack()
    {
        _limits.Add(3, most: 1000);
        _limits.RemoveAdded();
        Assert.Equal(_before, Minimum());
    }

    [Fact]
    public async Task ABlockedPoolGetsThreadsForItsRequests()
    {
        const int Requests = 64;
        using var gate = new ManualResetEventSlim();
        var blocked = new Task[Requests];
        for (int i = 0; i < Requests; i++)
            blocked[i] = Task.Run(gate.Wait, TestContext.Current.CancellationToken);
        var grown = new TaskCompletionSource<string>();
        using var watch = new PoolWatch(_limits, () => Requests, text => grown.TrySetResult(text));
        watch.Begin();
        watch.Wake();
        // Would be behind the blocked ones.
        await Task.Run(() => { }, TestContext.Current.CancellationToken);
        Assert.Contains("blocked", await grown.Task);
        gate.Set();
        await Task.WhenAll(blocked);
    }

    private static int Minimum()
    {
        ThreadPool.GetMinThreads(out int workers, out _);
        return workers;
    }
}
