// SPDX-License-Identifier: Apache-2.0

using System;
using System.Collections;
using System.IO;
using System.Reflection;
using Microsoft.Data.Sqlite;
using Xunit;

namespace Cohost.Worker.Tests;

/// <summary>On the real library, of which this process has one copy.</summary>
public sealed class SqlitePoolsTests : IDisposable
{
    private const BindingFlags Instances = BindingFlags.Instance | BindingFlags.NonPublic;

    private static readonly Assembly s_library = typeof(SqliteConnection).Assembly;

    private readonly SqlitePools _pools = SqlitePools.Install(s_library);

    private readonly object _factory = s_library
        .GetType("Microsoft.Data.Sqlite.SqliteConnectionFactory")!
        .GetField("Instance")!.GetValue(null)!;

    private int Groups => ((IDictionary)_factory.GetType()
        .GetField("_poolGroups", Instances)!.GetValue(_factory)!).Count;

    public void Dispose() => _pools.Dispose();

    [Fact]
    public void OneConnectionStringIsAPoolForEachService()
    {
        object first = PoolOf(1, "Data Source=app.db");
        Assert.Same(first, PoolOf(1, "Data Source=app.db"));
        Assert.NotSame(first, PoolOf(2, "Data Source=app.db"));
        Assert.NotSame(first, PoolOf(Boundary.NoService, "Data Source=app.db"));
        Assert.NotSame(first, PoolOf(1, "Data Source=other.db"));
    }

    [Fact]
    public void WhatIsIdleGoesAfterAWhileAndComesBack()
    {
        object first = PoolOf(1, "Data Source=app.db");
        PoolOf(2, "Data Source=app.db");
        Assert.Equal(2, Groups);
        _pools.Prune();
        Assert.Equal(2, Groups);
        _pools.Prune();
        Assert.Equal(0, Groups);
        Assert.NotSame(first, PoolOf(1, "Data Source=app.db"));
    }

    [Fact]
    public void WhatIsInUseStays()
    {
        // A file of its own, since a database in memory has no pool.
        string file = Path.Combine(Path.GetTempPath(), Path.GetRandomFileName());
        try
        {
            object pool;
            using (var open = new SqliteConnection("Data Source=" + file))
            {
                open.Open();
                pool = PoolOf(open);
                for (int i = 0; i < 3; i++) _pools.Prune();
                Assert.Same(pool, PoolOf(Boundary.NoService, "Data Source=" + file));
            }
            SqliteConnection.ClearAllPools();
        }
        finally
        {
            File.Delete(file);
        }
    }

    private static object PoolOf(int row, string connectionString)
    {
        CurrentService.Set(row == Boundary.NoService ? null : new ServiceTag(row));
        try
        {
            using var connection = new SqliteConnection(connectionString);
            return PoolOf(connection);
        }
        finally
        {
            CurrentService.Set(null);
        }
    }

    private static object PoolOf(SqliteConnection connection) =>
        typeof(SqliteConnection).GetProperty("PoolGroup", Instances)!.GetValue(connection)!;
}
