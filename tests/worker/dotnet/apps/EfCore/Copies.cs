// SPDX-License-Identifier: Apache-2.0
using System.Runtime.CompilerServices;
using System.Runtime.Loader;
using Microsoft.Data.Sqlite;
using Microsoft.EntityFrameworkCore;
using Microsoft.Extensions.DependencyModel;

namespace EfCore;

/// <summary>Which copies of its libraries the application has: of each the class of its load context
/// and the identities of a type and of an object in a static, which no two copies share.</summary>
internal static class Copies
{
    internal static string Describe() => string.Concat(
        Line(typeof(DbContext), EF.Functions),
        Line(typeof(RelationalDatabaseFacadeExtensions), typeof(RelationalDatabaseFacadeExtensions)),
        Line(typeof(SqliteConnection), SqliteFactory.Instance),
        Line(typeof(SQLitePCL.raw), typeof(SQLitePCL.raw)),
        Line(typeof(DependencyContext), typeof(DependencyContext)));

    private static string Line(Type type, object inStatic)
    {
        AssemblyLoadContext? context = AssemblyLoadContext.GetLoadContext(type.Assembly);
        return $"{type.Assembly.GetName().Name} {context?.GetType().Name} " +
            $"{RuntimeHelpers.GetHashCode(type)} {RuntimeHelpers.GetHashCode(inStatic)}\n";
    }
}
