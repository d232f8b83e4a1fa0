// SPDX-License-Identifier: Apache-2.0

using System;
using System.Collections.Generic;
using System.Linq;

namespace Cohost.Worker;

/// <summary>Which environment variables an application starts with.</summary>
internal static class ApplicationEnvironment
{
    private const string UnixScheme = "http+unix:";
    private const string HostingStartups = "ASPNETCORE_HOSTINGSTARTUPASSEMBLIES";

    // Of the default builders: whether they watch the application's settings files, which do not
    // change in its tree. A watcher is a thread's timer or an inotify instance for each of them.
    private const string ReloadSettings = "DOTNET_hostBuilder__reloadConfigOnChange";

    /// <summary>
    /// The worker's variables, the deployment's, its settings in the form in which .NET's
    /// configuration reads them from variables (so that code before Build() sees them, too), and
    /// the addresses.
    /// </summary>
    internal static Dictionary<string, string> Build(
        IReadOnlyDictionary<string, string> worker, ServiceSpec spec)
    {
        var variables = new Dictionary<string, string>(worker) { [ReloadSettings] = "false" };
        foreach ((string name, string? value) in spec.Environment) variables[name] = value ?? "";
        foreach ((string key, string? value) in spec.Settings)
            variables[key.Replace(":", "__")] = value ?? "";
        if (spec.Endpoints.Count > 0)
        {
            variables["ASPNETCORE_URLS"] =
                string.Join(';', spec.Endpoints.Select(endpoint => UrlOf(endpoint.Address)));
        }
        string shim = typeof(ApplicationEnvironment).Assembly.GetName().Name!;
        variables[HostingStartups] = variables.TryGetValue(HostingStartups, out string? own)
            ? $"{own};{shim}" : shim;
        return variables;
    }

    // A deployment says http+unix:/path for what Kestrel calls http://unix:/path.
    private static string UrlOf(string address) =>
        address.StartsWith(UnixScheme, StringComparison.Ordinal)
            ? $"http://unix:{address[UnixScheme.Length..]}" : address;
}
