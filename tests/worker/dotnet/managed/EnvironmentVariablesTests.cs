// SPDX-License-Identifier: Apache-2.0

using System;
using Xunit;

namespace Cohost.Worker.Tests;

[Collection("process")]
public sealed class EnvironmentVariablesTests : IDisposable
{
    private const string Name = "COHOSTTEST_VARIABLE";

    private readonly FakeWorker _worker = new();
    private readonly EnvironmentVariables _variables = new();

    public void Dispose() => Environment.SetEnvironmentVariable(Name, null);

    [Fact]
    public void AnApplicationStartsWithItsOwnVariables()
    {
        Service service = Make(1, "one");
        _variables.Open(service);
        Assert.Equal("one", Value);
        _variables.Close(service);
    }

    [Fact]
    public void AVariableOfOneApplicationStaysForItsLaterReads()
    {
        Run(Make(1, "one"));
        Assert.Equal("one", Value);
    }

    [Fact]
    public void TheNextApplicationDoesNotStartWithIt()
    {
        Run(Make(1, "one"));
        Service second = Make(2);
        _variables.Open(second);
        Assert.Null(Value);
        _variables.Close(second);
        Assert.Equal("one", Value);
    }

    [Fact]
    public void TwoApplicationsThatWantItDifferentlyAreAConflict()
    {
        Run(Make(1, "one"));
        Run(Make(2, "two"));
        Assert.Equal("one", Value);
        string warning = Assert.Single(_worker.Told);
        Assert.StartsWith("Warning 2:", warning);
        Assert.Contains(Name, warning);
        Assert.Contains("service1", warning);
    }

    [Fact]
    public void TwoThatWantItAlikeAreNone()
    {
        Run(Make(1, "one"));
        Run(Make(2, "one"));
        Assert.Empty(_worker.Told);
    }

    [Fact]
    public void WhatAnApplicationSetsWhileItStartsIsKept()
    {
        Service service = Make(1);
        _variables.Open(service);
        Environment.SetEnvironmentVariable(Name, "by itself");
        _variables.Close(service);
        Assert.Equal("by itself", Value);
    }

    [Fact]
    public void AddressesAreForgottenAfterTheStart()
    {
        Run(Make(1));
        Assert.Null(Environment.GetEnvironmentVariable("ASPNETCORE_URLS"));
    }

    private static string? Value => Environment.GetEnvironmentVariable(Name);

    private void Run(Service service)
    {
        _variables.Open(service);
        _variables.Close(service);
    }

    private Service Make(int row, string? value = null) =>
        new(new ServiceSpec
        {
            Row = row,
            Name = $"service{row}",
            Application = "/srv/App.dll",
            Environment = value is null ? [] : [new(Name, value)],
            Endpoints = [new ServiceEndpoint("http://127.0.0.1:8101", "")],
        }, _worker, new ProcessState(_worker, [], _ => true), () => { });
}
