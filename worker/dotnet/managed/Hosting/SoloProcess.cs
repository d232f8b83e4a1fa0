// SPDX-License-Identifier: Apache-2.0

using System.Reflection;
using System.Runtime.Loader;

namespace Cohost.Worker;

/// <summary>
/// A process that one application has for itself: the default load context is the application's, as
/// with <c>dotnet App.dll</c>, and the shim is in one of its own. The worker chooses by how it starts
/// the runtime.
/// </summary>
internal static class SoloProcess
{
    private static readonly Assembly s_shim = typeof(SoloProcess).Assembly;

    internal static bool IsSolo { get; } =
        AssemblyLoadContext.GetLoadContext(s_shim) != AssemblyLoadContext.Default;

    /// <summary>Of the one service; -1 before it is loaded.</summary>
    internal static int Row { get; private set; } = Boundary.NoService;

    /// <summary>Lets the application's host find the shim by name, as it finds hosting startups.
    /// Once a process.</summary>
    internal static void Install() => AssemblyLoadContext.Default.Resolving +=
        static (_, name) => name.Name == s_shim.GetName().Name ? s_shim : null;

    /// <summary>The context that the application is loaded into.</summary>
    internal static AssemblyLoadContext Take(int row)
    {
        Row = row;
        return AssemblyLoadContext.Default;
    }
}
