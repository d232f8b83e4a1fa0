// SPDX-License-Identifier: Apache-2.0

using System;
using System.IO;
using Xunit;

namespace Cohost.Worker.Tests;

[Collection("process")]
public sealed class FaultsTests
{
    [Fact]
    public void ThisRuntimeHasEverythingThatTheShimKnowsOf() =>
        Assert.Empty(FrameworkInternals.Missing());

    [Fact]
    public void AnExceptionIsBlamedOnTheRunningService()
    {
        CurrentService.Set(new ServiceTag(7));
        try
        {
            Assert.Equal(7, UnhandledExceptions.Blame(new InvalidOperationException()));
        }
        finally
        {
            CurrentService.Set(null);
        }
    }

    [Fact]
    public void AnExceptionOfNoServiceIsNobodys() => Assert.Equal(
        Boundary.NoService, UnhandledExceptions.Blame(new InvalidOperationException()));

    [Fact]
    public void AnAssemblyThatCallsExitIsFound()
    {
        Assert.True(ExitCalls.In(typeof(FaultsTests).Assembly));
        Assert.False(ExitCalls.In(typeof(Shim).Assembly));
    }

    [Theory]
    [InlineData("128\n", true)]
    [InlineData("65536\n", false)]
    [InlineData("what\n", true)]
    public void ApplicationsPollWhereInotifyInstancesAreFew(string limit, bool polls)
    {
        string file = Path.GetTempFileName();
        try
        {
            File.WriteAllText(file, limit);
            Assert.Equal(polls, FileWatchers.WhyPolling(file) is not null);
        }
        finally
        {
            File.Delete(file);
        }
    }

    [Fact]
    public void WithoutInotifyTheyPoll() => Assert.NotNull(FileWatchers.WhyPolling("/nowhere"));

    // Never called: a reference for ExitCalls to find.
    internal static void Leave() => Environment.Exit(1);
}
