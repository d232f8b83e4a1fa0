// SPDX-License-Identifier: Apache-2.0

using System.Collections.Concurrent;
using System.Collections.Generic;
using System.Reflection;

namespace Cohost.Worker;

/// <summary>
/// The libraries of this process that several services use, by path: one path is one library,
/// whoever names it, and another version has another path. Thread-safe. Lives as long as the
/// process, as does what it has loaded.
/// </summary>
internal sealed class SharedLibraries
{
    private readonly ConcurrentDictionary<string, SharedLibrary> _libraries = new();

    /// <summary>Those of the process.</summary>
    internal static SharedLibraries OfProcess { get; } = new();

    /// <summary>The assembly at <paramref name="path"/>, loaded now if it was not.</summary>
    /// <param name="path">One of the values of <paramref name="paths"/>.</param>
    /// <param name="paths">By name, all that the asking service shares: what one of them references
    /// is among them or the framework's, and is the same for every service that names it.</param>
    internal Assembly Load(string path, IReadOnlyDictionary<string, string> paths) =>
        _libraries.GetOrAdd(path, static (path, of) => new SharedLibrary(of.All, path, of.Paths),
            (All: this, Paths: paths)).Assembly;
}
