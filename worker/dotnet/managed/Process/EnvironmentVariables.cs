// SPDX-License-Identifier: Apache-2.0

using System;
using System.Collections;
using System.Collections.Generic;
using System.Linq;

namespace Cohost.Worker;

/// <summary>
/// The environment variables of the process: an application's own while it starts; after that the
/// worker's, and those that only one application wants. Two applications that want one variable
/// differently are told of. On the starting thread only.
/// </summary>
internal sealed class EnvironmentVariables : IProcessPart
{
    // Of the worker itself, not for applications.
    private const string HostPrefix = "COHOST_";

    // Where the runtime makes its diagnostics socket: the worker lets it take this for TMPDIR while
    // it starts, which is when it looks at the environment for good.
    private const string DiagnosticsFolder = "COHOST_DIAGNOSTICS_FOLDER";
    private const string TemporaryFolder = "TMPDIR";

    private readonly Dictionary<string, string> _base;
    private readonly Dictionary<string, Claim> _claims = [];
    private Dictionary<string, string> _given = [];

    internal EnvironmentVariables()
    {
        Dictionary<string, string> present = Read();
        _base = present.Where(pair => !pair.Key.StartsWith(HostPrefix, StringComparison.Ordinal))
            .ToDictionary();
        if (present.TryGetValue(DiagnosticsFolder, out string? folder) &&
            _base.GetValueOrDefault(TemporaryFolder) == folder)
        {
            _base.Remove(TemporaryFolder);
        }
        Change(present, _base);
    }

    /// <summary>Sets a variable that every application gets, unless its deployment does.</summary>
    internal void SetDefault(string name, string value)
    {
        if (_base.TryAdd(name, value)) Environment.SetEnvironmentVariable(name, value);
    }

    public void Open(Service service)
    {
        _given = ApplicationEnvironment.Build(_base, service.Spec);
        Change(Read(), _given);
    }

    public void Close(Service service)
    {
        Dictionary<string, string> wanted = Read();
        var conflicts = new List<string>();
        foreach (string name in Wishes(wanted, service.Spec))
        {
            string? value = wanted.GetValueOrDefault(name);
            if (_claims.TryGetValue(name, out Claim claim) && claim.Value != value)
            {
                conflicts.Add($"{name} (as {claim.Service} has it)");
                continue;
            }
            _claims.TryAdd(name, new Claim(service.Spec.Name, value));
        }
        Change(wanted, Between());
        if (conflicts.Count == 0) return;
        service.Warn("it wants environment variables differently from its neighbours; code that " +
            $"reads them after the start gets their values: {string.Join(", ", conflicts)}");
    }

    // What the deployment gave and what the application set by itself.
    private IEnumerable<string> Wishes(Dictionary<string, string> wanted, ServiceSpec spec)
    {
        IEnumerable<string> changed = wanted.Keys.Union(_given.Keys).Where(
            name => wanted.GetValueOrDefault(name) != _given.GetValueOrDefault(name));
        return spec.Environment.Select(pair => pair.Key).Union(changed);
    }

    private Dictionary<string, string> Between()
    {
        var between = new Dictionary<string, string>(_base);
        foreach ((string name, Claim claim) in _claims)
        {
            if (claim.Value is null) between.Remove(name);
            else between[name] = claim.Value;
        }
        return between;
    }

    private static Dictionary<string, string> Read()
    {
        var variables = new Dictionary<string, string>();
        foreach (DictionaryEntry entry in Environment.GetEnvironmentVariables())
            variables[(string)entry.Key] = (string?)entry.Value ?? "";
        return variables;
    }

    private static void Change(Dictionary<string, string> from, Dictionary<string, string> to)
    {
        foreach (string name in from.Keys.Where(name => !to.ContainsKey(name)))
            Environment.SetEnvironmentVariable(name, null);
        foreach ((string name, string value) in to)
        {
            if (from.GetValueOrDefault(name) != value)
                Environment.SetEnvironmentVariable(name, value);
        }
    }

    private readonly record struct Claim(string Service, string? Value);
}
