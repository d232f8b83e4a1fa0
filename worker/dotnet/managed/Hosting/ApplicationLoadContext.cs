// SPDX-License-Identifier: Apache-2.0

using System;
using System.Collections.Frozen;
using System.IO;
using System.Linq;
using System.Reflection;
using System.Runtime.Loader;

namespace Cohost.Worker;

/// <summary>
/// The load context of one application: its own assemblies and native libraries, as its deps.json
/// says; what the framework has comes from the default context, and libraries that it shares with
/// its neighbours from theirs. Not collectible, because that costs ReadyToRun code and tiering.
/// Thread-safe; lives as long as the process.
/// </summary>
internal sealed class ApplicationLoadContext : AssemblyLoadContext
{
    private static readonly FrozenSet<string> s_framework = FrameworkNames();

    private readonly AssemblyDependencyResolver _resolver;

    // By name.
    private readonly FrozenDictionary<string, string> _shared;

    internal ApplicationLoadContext(ServiceSpec spec)
        : base(spec.Name, isCollectible: false)
    {
        Row = spec.Row;
        _resolver = new AssemblyDependencyResolver(spec.Application);
        _shared = spec.SharedLibraries.ToFrozenDictionary(
            path => Path.GetFileNameWithoutExtension(path), StringComparer.OrdinalIgnoreCase);
    }

    /// <summary>Of the service.</summary>
    internal int Row { get; }

    protected override Assembly? Load(AssemblyName assemblyName)
    {
        if (assemblyName.Name is null || s_framework.Contains(assemblyName.Name)) return null;
        if (string.IsNullOrEmpty(assemblyName.CultureName) &&
            _shared.TryGetValue(assemblyName.Name, out string? shared))
        {
            return SharedLibraries.OfProcess.Load(shared, _shared);
        }
        string? path = _resolver.ResolveAssemblyToPath(assemblyName);
        return path is null ? null : LoadFromAssemblyPath(path);
    }

    protected override nint LoadUnmanagedDll(string unmanagedDllName)
    {
        string? path = _resolver.ResolveUnmanagedDllToPath(unmanagedDllName);
        return path is null ? 0 : LoadUnmanagedDllFromPath(path);
    }

    private static FrozenSet<string> FrameworkNames()
    {
        string paths = AppContext.GetData("TRUSTED_PLATFORM_ASSEMBLIES") as string ?? "";
        return paths.Split(Path.PathSeparator, StringSplitOptions.RemoveEmptyEntries)
            .Select(path => Path.GetFileNameWithoutExtension(path))
            .ToFrozenSet(StringComparer.OrdinalIgnoreCase);
    }
}
