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
/// says; what the framework has comes from the default context. Not collectible, because that costs
/// ReadyToRun code and tiering. Thread-safe; lives as long as the process.
/// </summary>
internal sealed class ApplicationLoadContext : AssemblyLoadContext
{
    private static readonly FrozenSet<string> s_framework = FrameworkNames();

    private readonly AssemblyDependencyResolver _resolver;

    internal ApplicationLoadContext(ServiceSpec spec)
        : base(spec.Name, isCollectible: false)
    {
        Row = spec.Row;
        _resolver = new AssemblyDependencyResolver(spec.Application);
    }

    /// <summary>Of the service.</summary>
    internal int Row { get; }

    protected override Assembly? Load(AssemblyName assemblyName)
    {
        if (assemblyName.Name is null || s_framework.Contains(assemblyName.Name)) return null;
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
