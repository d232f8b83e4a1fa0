// SPDX-License-Identifier: Apache-2.0

using System;
using System.Reflection;

namespace Cohost.Worker;

/// <summary>
/// Statics of shared libraries that hold something of one application: they are replaced by what
/// looks at the service that asks. The supervisor's list of reviewed libraries
/// (supervisor/dotnet/reviewed_libraries.cc) counts on what is here.
/// </summary>
internal static class ServiceStatics
{
    /// <summary>Whether a shared assembly loads that one by its name, without a reference. They are
    /// the same for all who share it (ReviewedLibrary's `bound`).</summary>
    internal static bool LoadsByName(Assembly assembly, string name) =>
        assembly.GetName().Name == SqlitePools.Library &&
        name.StartsWith(SqlitePools.NativeFamily, StringComparison.OrdinalIgnoreCase);

    /// <summary>Called once for each shared assembly, before anything of it runs. An exception says
    /// that this version of it cannot be shared.</summary>
    internal static void Install(Assembly assembly)
    {
        switch (assembly.GetName().Name)
        {
            case EntityFrameworkCaches.Library:
                EntityFrameworkCaches.Install(assembly);
                break;
            case SqlitePools.Library:
                // Its timer keeps it.
                _ = SqlitePools.Install(assembly);
                break;
        }
    }
}
