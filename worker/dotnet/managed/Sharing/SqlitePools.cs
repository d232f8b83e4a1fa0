// SPDX-License-Identifier: Apache-2.0

using System;
using System.Collections;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.Reflection;
using System.Threading;

namespace Cohost.Worker;

/// <summary>
/// Microsoft.Data.Sqlite keeps one pool of connections for each connection string, in a dictionary
/// of a static object. Two applications that both open "Data Source=app.db" mean different files, so
/// here the dictionary has a key for each service: its comparer adds the service that asks
/// (<see cref="PartitionedKeys"/>). What the library does with the dictionary from time to time,
/// leaving out what is idle, is done here in its place, since it would make one that compares texts
/// alone. Seen in version 10.0.0. Thread-safe; lives as long as the process.
/// </summary>
internal sealed class SqlitePools : IDisposable
{
    internal const string Library = "Microsoft.Data.Sqlite";

    /// <summary>Begins the names of the libraries that call the native one.</summary>
    internal const string NativeFamily = "SQLitePCLRaw.";

    private const BindingFlags Instances =
        BindingFlags.Instance | BindingFlags.NonPublic | BindingFlags.Public;

    // As the library does.
    private static readonly TimeSpan s_firstPrune = TimeSpan.FromMinutes(4);
    private static readonly TimeSpan s_prunes = TimeSpan.FromSeconds(30);

    [ThreadStatic]
    private static int? s_rowOfPrune;

    private readonly ConcurrentDictionary<int, bool> _rows = new();
    private readonly object _factory;
    private readonly ReaderWriterLockSlim _lock;
    private readonly IList _idle;
    private readonly IList _released;
    private readonly FieldInfo _groups;
    private readonly PropertyInfo _count;
    private readonly MethodInfo _clearPool;
    private readonly MethodInfo _clearGroup;
    private readonly MethodInfo _pruneGroup;
    private readonly Timer _timer;

    private SqlitePools(Assembly library)
    {
        Type type = TypeOf(library, "SqliteConnectionFactory");
        Type pool = TypeOf(library, "SqliteConnectionPool");
        Type group = TypeOf(library, "SqliteConnectionPoolGroup");
        _factory = type.GetField("Instance", BindingFlags.Static | BindingFlags.Public)
            ?.GetValue(null) ?? throw Missing(library, "SqliteConnectionFactory.Instance");
        _lock = (ReaderWriterLockSlim)ValueOf("_lock");
        _idle = (IList)ValueOf("_idlePoolGroups");
        _released = (IList)ValueOf("_poolsToRelease");
        _groups = Field("_poolGroups");
        _count = pool.GetProperty("Count", Instances)
            ?? throw Missing(library, "SqliteConnectionPool.Count");
        _clearPool = Method(pool, "Clear", typeof(void));
        _clearGroup = Method(group, "Clear", typeof(bool));
        _pruneGroup = Method(group, "Prune", typeof(bool));
        ConstructorInfo groups = _groups.FieldType.GetConstructor([typeof(IEqualityComparer<string>)])
            ?? throw Missing(library, "SqliteConnectionFactory._poolGroups as a dictionary of texts");
        var theirs = (Timer)ValueOf("_pruneTimer");
        theirs.Dispose();
        _groups.SetValue(_factory, groups.Invoke([new PartitionedKeys(_ => true, CurrentRow)]));
        _timer = new Timer(
            static self => ((SqlitePools)self!).Prune(), this, s_firstPrune, s_prunes);

        FieldInfo Field(string name) => type.GetField(name, Instances)
            ?? throw Missing(library, "SqliteConnectionFactory." + name);
        object ValueOf(string name) => Field(name).GetValue(_factory)
            ?? throw Missing(library, "SqliteConnectionFactory." + name);
        MethodInfo Method(Type of, string name, Type returned) =>
            of.GetMethod(name, Instances, Type.EmptyTypes) is { } method &&
                method.ReturnType == returned
                ? method : throw Missing(library, $"{of.Name}.{name}");
    }

    internal static SqlitePools Install(Assembly library)
    {
        // The timer is nobody's.
        using AsyncFlowControl flow = ExecutionContext.SuppressFlow();
        return new SqlitePools(library);
    }

    public void Dispose() => _timer.Dispose();

    /// <summary>Leaves out what has been idle since the time before.</summary>
    internal void Prune()
    {
        lock (_released)
        {
            for (int i = _released.Count - 1; i >= 0; i--)
            {
                object pool = _released[i]!;
                _clearPool.Invoke(pool, null);
                if ((int)_count.GetValue(pool)! == 0) _released.RemoveAt(i);
            }
        }
        _lock.EnterWriteLock();
        try
        {
            for (int i = _idle.Count - 1; i >= 0; i--)
            {
                if (!(bool)_clearGroup.Invoke(_idle[i], null)!) _idle.RemoveAt(i);
            }
            var groups = (IDictionary)_groups.GetValue(_factory)!;
            var gone = new List<DictionaryEntry>();
            foreach (DictionaryEntry entry in groups)
            {
                if ((bool)_pruneGroup.Invoke(entry.Value, null)!) gone.Add(entry);
            }
            foreach (DictionaryEntry entry in gone)
            {
                _idle.Add(entry.Value);
                Remove(groups, entry);
            }
        }
        finally
        {
            _lock.ExitWriteLock();
        }
    }

    // It is somebody's, and its key says no more than the connection string.
    private void Remove(IDictionary groups, DictionaryEntry entry)
    {
        foreach ((int row, _) in _rows)
        {
            s_rowOfPrune = row;
            try
            {
                if (!ReferenceEquals(groups[entry.Key], entry.Value)) continue;
                groups.Remove(entry.Key);
                return;
            }
            finally
            {
                s_rowOfPrune = null;
            }
        }
    }

    private int CurrentRow()
    {
        if (s_rowOfPrune is { } row) return row;
        int current = CurrentService.Row;
        _rows.TryAdd(current, true);
        return current;
    }

    private static Type TypeOf(Assembly library, string name) =>
        library.GetType("Microsoft.Data.Sqlite." + name) ?? throw Missing(library, name);

    private static NotSupportedException Missing(Assembly library, string what) => new(
        $"{library.GetName().Name} {library.GetName().Version} cannot be shared: it has no {what} " +
        "as version 10.0.0 has it. Take it out of dotnet.shared_libraries");
}
