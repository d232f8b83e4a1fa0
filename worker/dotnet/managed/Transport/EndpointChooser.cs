// SPDX-License-Identifier: Apache-2.0

using System;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;
using System.Net;
using Microsoft.AspNetCore.Http;

namespace Cohost.Worker;

/// <summary>
/// Which endpoint of an application the connections of each `listen` entry go to. `endpoint:` names
/// it by Kestrel:Endpoints:NAME, HOST:PORT, PORT, a URL, or the scheme (`https` is the first with
/// TLS, `http` the first without). Without it the first entry goes to the first plain endpoint that
/// speaks HTTP/1, and the further ones to the further endpoints, when there are that many.
/// </summary>
internal static class EndpointChooser
{
    /// <summary>One index into <paramref name="bound"/> for each entry. <paramref name="bound"/> is
    /// not empty, and in the order in which the server bound it.</summary>
    /// <exception cref="ArgumentException">A name that no endpoint has; says which there are.
    /// </exception>
    internal static int[] Choose(
        IReadOnlyList<ServiceEndpoint> entries, IReadOnlyList<BoundEndpoint> bound)
    {
        int[] order = DefaultOrder(bound);
        if (entries.Count == 0) return [order[0]];
        return [.. entries.Select((entry, index) => entry.Name.Length > 0
            ? Find(entry.Name, bound)
            : order[index < order.Length ? index : 0])];
    }

    // One of each port: `localhost` is bound twice, for IPv4 and for IPv6.
    private static int[] DefaultOrder(IReadOnlyList<BoundEndpoint> bound)
    {
        var distinct = Enumerable.Range(0, bound.Count)
            .DistinctBy(index => PortOf(bound[index].EndPoint) ?? (object)index).ToList();
        int first = distinct.FindIndex(
            index => !bound[index].IsTls && bound[index].SpeaksHttp1);
        if (first < 0) first = Math.Max(0, distinct.FindIndex(index => !bound[index].IsTls));
        int chosen = distinct[first];
        distinct.RemoveAt(first);
        return [chosen, .. distinct];
    }

    private static int Find(string name, IReadOnlyList<BoundEndpoint> bound)
    {
        for (int index = 0; index < bound.Count; index++)
        {
            if (Matches(name, bound[index])) return index;
        }
        string known = string.Join(", ", bound.Select(Describe));
        throw new ArgumentException($"endpoint \"{name}\" is none of the application's: {known}");
    }

    private static bool Matches(string name, BoundEndpoint endpoint)
    {
        if (endpoint.Names.Contains(name, StringComparer.OrdinalIgnoreCase)) return true;
        if (name.Equals("https", StringComparison.OrdinalIgnoreCase)) return endpoint.IsTls;
        if (name.Equals("http", StringComparison.OrdinalIgnoreCase)) return !endpoint.IsTls;
        int? port = PortOf(endpoint.EndPoint);
        if (int.TryParse(name, CultureInfo.InvariantCulture, out int number)) return port == number;
        // Kestrel's own parser: `*` and `+` are no hosts of a Uri.
        BindingAddress wanted;
        try
        {
            wanted = BindingAddress.Parse(name.Contains("://") ? name : $"any://{name}");
        }
        catch (FormatException)
        {
            return false;
        }
        if (wanted.Scheme != "any" && wanted.Scheme == Uri.UriSchemeHttps != endpoint.IsTls)
            return false;
        return port == wanted.Port && HasHost(endpoint.EndPoint, wanted.Host);
    }

    private static bool HasHost(EndPoint endPoint, string host)
    {
        if (endPoint is not IPEndPoint { Address: { } address }) return false;
        if (host is "localhost") return IPAddress.IsLoopback(address);
        if (host is "*" or "+")
            return address.Equals(IPAddress.Any) || address.Equals(IPAddress.IPv6Any);
        return IPAddress.TryParse(host.Trim('[', ']'), out IPAddress? wanted) &&
            wanted.Equals(address);
    }

    private static string Describe(BoundEndpoint endpoint)
    {
        string address = $"{(endpoint.IsTls ? "https" : "http")}://{endpoint.EndPoint}";
        return endpoint.Names.Count == 0
            ? address : $"{address} ({string.Join(", ", endpoint.Names)})";
    }

    private static int? PortOf(EndPoint endPoint) => endPoint switch
    {
        IPEndPoint ip => ip.Port,
        _ => null,
    };
}
