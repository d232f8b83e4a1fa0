// SPDX-License-Identifier: Apache-2.0

using System.Collections.Generic;
using System.Net;

namespace Cohost.Worker;

/// <summary>What is known of one endpoint that an application's server has bound.</summary>
internal sealed record BoundEndpoint
{
    public required EndPoint EndPoint { get; init; }

    public bool IsTls { get; init; }

    /// <summary>Whether it speaks HTTP/1.</summary>
    public bool SpeaksHttp1 { get; init; } = true;

    /// <summary>Names of configuration sections Kestrel:Endpoints:NAME with its address.</summary>
    public IReadOnlyList<string> Names { get; init; } = [];
}
