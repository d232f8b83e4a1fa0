// SPDX-License-Identifier: Apache-2.0

using System.Collections.Generic;
using Xunit;

namespace Cohost.Worker.Tests;

public sealed class ApplicationEnvironmentTests
{
    private static readonly ServiceSpec s_spec = new()
    {
        Row = 1,
        Name = "orders",
        Application = "/srv/orders/Orders.dll",
        Endpoints =
        [
            new ServiceEndpoint("http://127.0.0.1:8101", ""),
            new ServiceEndpoint("http+unix:/run/orders.sock", ""),
        ],
    };

    [Fact]
    public void TheDeploymentsVariablesWinOverTheWorkers()
    {
        Dictionary<string, string> variables = Build(
            s_spec with { Environment = [new("B", "mine")] }, new() { ["A"] = "1", ["B"] = "2" });
        Assert.Equal("1", variables["A"]);
        Assert.Equal("mine", variables["B"]);
    }

    [Fact]
    public void SettingsWinOverVariablesInTheFormOfConfiguration()
    {
        Dictionary<string, string> variables = Build(s_spec with
        {
            Environment = [new("db__password", "variable")],
            Settings = [new("db:password", "setting"), new("hosts:0", "first")],
        });
        Assert.Equal("setting", variables["db__password"]);
        Assert.Equal("first", variables["hosts__0"]);
    }

    [Fact]
    public void TheAddressesAreTheDeployments()
    {
        Dictionary<string, string> variables = Build(
            s_spec with { Environment = [new("ASPNETCORE_URLS", "http://*:80")] });
        Assert.Equal(
            "http://127.0.0.1:8101;http://unix:/run/orders.sock", variables["ASPNETCORE_URLS"]);
    }

    [Fact]
    public void AnApplicationsOwnHostingStartupsStay()
    {
        Dictionary<string, string> variables = Build(
            s_spec with { Environment = [new("ASPNETCORE_HOSTINGSTARTUPASSEMBLIES", "Own")] });
        Assert.Equal("Own;Cohost.Worker", variables["ASPNETCORE_HOSTINGSTARTUPASSEMBLIES"]);
    }

    [Fact]
    public void SettingsFilesAreNotWatchedUnlessTheDeploymentSaysSo()
    {
        const string Reload = "DOTNET_hostBuilder__reloadConfigOnChange";
        Assert.Equal("false", Build(s_spec)[Reload]);
        Assert.Equal("true", Build(s_spec with { Environment = [new(Reload, "true")] })[Reload]);
    }

    private static Dictionary<string, string> Build(
        ServiceSpec spec, Dictionary<string, string>? worker = null) =>
        ApplicationEnvironment.Build(worker ?? [], spec);
}
