// SPDX-License-Identifier: Apache-2.0

using System;
using System.Collections.Frozen;
using System.Collections.Generic;
using System.IO;
using System.Reflection;
using System.Runtime.Loader;

namespace Cohost.Worker;

/// <summary>
/// The load context of one library that several services use: its code, types and statics exist
/// once. It knows what the library references and nothing else: what the runtime has found
/// once it gives to everybody, so no service's own assemblies may be found through it. Satellites,
/// native libraries, and what it has a copy of for itself alone are beside the library. Thread-safe;
/// lives as long as the process.
/// </summary>
internal sealed class SharedLibrary : AssemblyLoadContext
{
    private readonly SharedLibraries _all;
    private readonly string _path;
    private readonly IReadOnlyDictionary<string, string> _paths;
    private readonly Lazy<Assembly> _assembly;

    // By name. Set when the assembly is loaded, before anything of it runs.
    private FrozenDictionary<string, Reference> _references =
        FrozenDictionary<string, Reference>.Empty;

    internal SharedLibrary(
        SharedLibraries all, string path, IReadOnlyDictionary<string, string> paths)
        : base(Path.GetFileNameWithoutExtension(path), isCollectible: false)
    {
        _all = all;
        _path = path;
        _paths = paths;
        _assembly = new Lazy<Assembly>(LoadOwn);
    }

    /// <summary>Loaded by the first who asks.</summary>
    internal Assembly Assembly => _assembly.Value;

    protected override Assembly? Load(AssemblyName assemblyName)
    {
        if (assemblyName.Name is null || !string.IsNullOrEmpty(assemblyName.CultureName) ||
            !_references.TryGetValue(assemblyName.Name, out Reference reference))
        {
            return null;
        }
        return reference.IsOwn
            ? LoadFromAssemblyPath(reference.Path) : _all.Load(reference.Path, _paths);
    }

    protected override nint LoadUnmanagedDll(string unmanagedDllName)
    {
        string folder = Path.GetDirectoryName(_path)!;
        if (unmanagedDllName.Contains('/', StringComparison.Ordinal)) return 0;
        string[] names =
        [
            unmanagedDllName, $"{unmanagedDllName}.so", $"lib{unmanagedDllName}.so",
            $"lib{unmanagedDllName}",
        ];
        foreach (string name in names)
        {
            string path = Path.Combine(folder, name);
            if (File.Exists(path)) return LoadUnmanagedDllFromPath(path);
        }
        return 0;
    }

    private Assembly LoadOwn()
    {
        Assembly assembly = LoadFromAssemblyPath(_path);
        var references = new Dictionary<string, Reference>();
        foreach (AssemblyName reference in assembly.GetReferencedAssemblies())
        {
            if (reference.Name is not { } name) continue;
            string beside = Path.Combine(Path.GetDirectoryName(_path)!, name + ".dll");
            if (_paths.TryGetValue(name, out string? path)) references[name] = new(path, false);
            else if (File.Exists(beside)) references[name] = new(beside, true);
        }
        foreach ((string name, string path) in _paths)
        {
            if (ServiceStatics.LoadsByName(assembly, name)) references.TryAdd(name, new(path, false));
        }
        _references = references.ToFrozenDictionary(StringComparer.OrdinalIgnoreCase);
        ServiceStatics.Install(assembly);
        return assembly;
    }

    // IsOwn: loaded here, for this library alone.
    private readonly record struct Reference(string Path, bool IsOwn);
}
