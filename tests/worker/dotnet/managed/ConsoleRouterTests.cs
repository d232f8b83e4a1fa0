// SPDX-License-Identifier: Apache-2.0

using System.IO;
using System.Linq;
using System.Threading.Tasks;
using Microsoft.Extensions.Logging;
using Xunit;

namespace Cohost.Worker.Tests;

[Collection("process")]
public sealed class ConsoleRouterTests : System.IDisposable
{
    private readonly FakeWorker _worker = new();
    private readonly StringWriter _own = new();
    private readonly ConsoleRouter _router;

    public ConsoleRouterTests() =>
        _router = new ConsoleRouter("stdout", LogLevel.Information, _worker, _own);

    public void Dispose()
    {
        _router.Dispose();
        _own.Dispose();
    }

    [Fact]
    public void EachLineIsAnEventOfTheServiceThatWrites()
    {
        As(1, () => _router.WriteLine("one\r\ntwo"));
        As(2, () => _router.Write("three\n"));
        Assert.Equal(
            [
                "log 1 Information stdout: one",
                "log 1 Information stdout: two",
                "log 2 Information stdout: three",
            ],
            _worker.Told);
    }

    [Fact]
    public void ALineWaitsForItsEnd()
    {
        As(1, () => _router.Write("be"));
        As(2, () => _router.WriteLine("other"));
        As(1, () => _router.Write('g'));
        As(1, () => _router.Write("in\n"));
        Assert.Equal("log 1 Information stdout: begin", _worker.Told[^1]);
        Assert.Equal(2, _worker.Told.Count);
    }

    [Fact]
    public void WhatIsNobodysGoesToTheWorkersStream()
    {
        _router.WriteLine("mine");
        Assert.Empty(_worker.Told);
        Assert.Equal("mine\n", _own.ToString());
    }

    [Fact]
    public void AReplacedWriterIsTheServicesOwn()
    {
        using var replaced = new StringWriter();
        _router.Replace(1, replaced);
        As(1, () => _router.WriteLine("one"));
        As(2, () => _router.WriteLine("two"));
        Assert.Equal("one\n", replaced.ToString());
        Assert.Equal(["log 2 Information stdout: two"], _worker.Told);
    }

    [Fact]
    public void AReplacedWriterMayWriteToTheOneItFound()
    {
        using var tee = new TeeWriter(_router);
        _router.Replace(1, tee);
        As(1, () => _router.WriteLine("one"));
        Assert.Equal(["log 1 Information stdout: tee one"], _worker.Told);
    }

    [Fact]
    public void ALineOfOneCallStaysTogether()
    {
        As(1, () => Parallel.For(0, 1000, i => _router.WriteLine(i)));
        Assert.Equal(1000, _worker.Told.Distinct().Count());
    }

    private static void As(int row, System.Action action)
    {
        CurrentService.Set(new ServiceTag(row));
        action();
        CurrentService.Set(null);
    }

    private sealed class TeeWriter(TextWriter to) : StringWriter
    {
        public override void WriteLine(string? value) => to.WriteLine($"tee {value}");
    }
}
