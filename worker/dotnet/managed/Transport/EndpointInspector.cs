// SPDX-License-Identifier: Apache-2.0

using System;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;
using System.Net;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Options;

namespace Cohost.Worker;

/// <summary>Finds out what the endpoints of an application's Kestrel speak and are called. Called
/// when they are bound.</summary>
internal sealed class EndpointInspector(IServiceProvider provider)
{
    private readonly KestrelServerOptions? _options =
        provider.GetService<IOptions<KestrelServerOptions>>()?.Value;

    private readonly IConfigurationSection? _configured =
        provider.GetService<IConfiguration>()?.GetSection("Kestrel:Endpoints");

    /// <param name="endPoint">As Kestrel asked for it, port 0 included.</param>
    internal BoundEndpoint Describe(EndPoint endPoint)
    {
        (bool isTls, HttpProtocols protocols) =
            (_options is null ? null : FrameworkInternals.Describe(_options, endPoint)) ??
            (false, HttpProtocols.Http1);
        return new BoundEndpoint
        {
            EndPoint = endPoint,
            IsTls = isTls,
            // Without TLS a server cannot tell the two apart and takes HTTP/1.
            SpeaksHttp1 = protocols.HasFlag(HttpProtocols.Http1),
            Names = [.. NamesOf(endPoint)],
        };
    }

    private IEnumerable<string> NamesOf(EndPoint endPoint)
    {
        if (_configured is null || endPoint is not IPEndPoint ip) return [];
        return from section in _configured.GetChildren()
               where PortOf(section["Url"]) == ip.Port
               select section.Key;
    }

    private static int? PortOf(string? url)
    {
        if (string.IsNullOrEmpty(url)) return null;
        string authority = url[(url.IndexOf("://", StringComparison.Ordinal) + 3)..].TrimEnd('/');
        int colon = authority.LastIndexOf(':');
        if (colon < 0)
            return url.StartsWith("https", StringComparison.OrdinalIgnoreCase) ? 443 : 80;
        return int.TryParse(
            authority[(colon + 1)..], CultureInfo.InvariantCulture, out int port) ? port : null;
    }
}
