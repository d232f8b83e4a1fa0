// SPDX-License-Identifier: Apache-2.0

using System;
using System.Net;
using Xunit;

namespace Cohost.Worker.Tests;

public sealed class EndpointChooserTests
{
    private static readonly BoundEndpoint s_plain = new() { EndPoint = Loopback(5000) };

    private static readonly BoundEndpoint s_tls = new()
    {
        EndPoint = Loopback(5001),
        IsTls = true,
        Names = ["Secure"],
    };

    private static readonly BoundEndpoint s_http2 = new()
    {
        EndPoint = new IPEndPoint(IPAddress.Any, 5002),
        SpeaksHttp1 = false,
        Names = ["Grpc"],
    };

    [Fact]
    public void TheFirstEntryGoesToThePlainEndpointThatSpeaksHttp1()
    {
        Assert.Equal([2], EndpointChooser.Choose([Entry()], [s_tls, s_http2, s_plain]));
    }

    [Fact]
    public void APlainHttp2EndpointIsBetterThanTls()
    {
        Assert.Equal([1], EndpointChooser.Choose([Entry()], [s_tls, s_http2]));
    }

    [Fact]
    public void WithNothingButTlsItIsTls()
    {
        Assert.Equal([0], EndpointChooser.Choose([Entry()], [s_tls]));
    }

    [Fact]
    public void FurtherEntriesGoToFurtherEndpoints()
    {
        Assert.Equal(
            [1, 0, 2],
            EndpointChooser.Choose([Entry(), Entry(), Entry()], [s_tls, s_plain, s_http2]));
    }

    [Fact]
    public void EntriesThatHaveNoEndpointOfTheirOwnGoToTheFirst()
    {
        Assert.Equal([0, 0], EndpointChooser.Choose([Entry(), Entry()], [s_plain]));
    }

    [Fact]
    public void LocalhostIsOneEndpointForBothFamilies()
    {
        BoundEndpoint six = new() { EndPoint = new IPEndPoint(IPAddress.IPv6Loopback, 5000) };
        Assert.Equal([0, 0], EndpointChooser.Choose([Entry(), Entry()], [s_plain, six]));
    }

    [Fact]
    public void WithoutEntriesThereIsOneForConnectionsFromInside()
    {
        Assert.Equal([1], EndpointChooser.Choose([], [s_tls, s_plain]));
    }

    [Theory]
    [InlineData("Grpc", 2)]
    [InlineData("grpc", 2)]
    [InlineData("5001", 1)]
    [InlineData("127.0.0.1:5000", 0)]
    [InlineData("localhost:5000", 0)]
    [InlineData("*:5002", 2)]
    [InlineData("https", 1)]
    [InlineData("http", 0)]
    [InlineData("https://localhost:5001", 1)]
    [InlineData("http://127.0.0.1:5000", 0)]
    public void ANameChoosesItsEndpoint(string name, int expected)
    {
        Assert.Equal(
            [expected], EndpointChooser.Choose([Entry(name)], [s_plain, s_tls, s_http2]));
    }

    [Theory]
    [InlineData("5003")]
    [InlineData("http://localhost:5001")]
    [InlineData("10.0.0.1:5000")]
    [InlineData("Other")]
    public void ANameThatNothingHasIsAnErrorThatListsWhatThereIs(string name)
    {
        var error = Assert.Throws<ArgumentException>(
            () => EndpointChooser.Choose([Entry(name)], [s_plain, s_tls]));
        Assert.Contains(name, error.Message);
        Assert.Contains("http://127.0.0.1:5000", error.Message);
        Assert.Contains("https://127.0.0.1:5001 (Secure)", error.Message);
    }

    private static ServiceEndpoint Entry(string name = "") => new("http://127.0.0.1:8101", name);

    private static IPEndPoint Loopback(int port) => new(IPAddress.Loopback, port);
}
