// SPDX-License-Identifier: Apache-2.0

using System;
using System.Collections.Generic;
using System.IO;

namespace Cohost.Worker;

/// <summary>What a service is loaded with; a copy of boundary.h's LoadRequest. Immutable.</summary>
internal sealed record ServiceSpec
{
    public required int Row { get; init; }

    public required string Name { get; init; }

    /// <summary>Absolute path of the main assembly.</summary>
    public required string Application { get; init; }

    /// <summary>Empty: there is none.</summary>
    public string DataFolder { get; init; } = "";

    /// <summary>Empty: the service's name stands for it.</summary>
    public string DataProtectionName { get; init; } = "";

    public IReadOnlyList<KeyValuePair<string, string?>> Settings { get; init; } = [];

    public IReadOnlyList<KeyValuePair<string, string?>> Environment { get; init; } = [];

    public IReadOnlyList<string> Arguments { get; init; } = [];

    public IReadOnlyList<ServiceEndpoint> Endpoints { get; init; } = [];

    /// <summary>Paths of libraries that exist once for all services that name them: NAME.dll, with
    /// all that they reference outside of the framework.</summary>
    public IReadOnlyList<string> SharedLibraries { get; init; } = [];

    /// <summary>Requests in the application's code at a time; 0: no limit.</summary>
    public int Concurrency { get; init; }

    public int Queue { get; init; }

    /// <summary>Zero: none.</summary>
    public TimeSpan RequestTimeout { get; init; }

    /// <summary>Address of the service's row of the segment; 0: none.</summary>
    public nint SegmentRow { get; init; }

    /// <summary>The service's tree: current folder and content root of the application.</summary>
    public string Folder => Path.GetDirectoryName(Application) ?? "/";
}
