// SPDX-License-Identifier: Apache-2.0

using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Reflection;
using System.Runtime.Loader;
using System.Threading;
using System.Threading.Tasks;

namespace Cohost.Worker;

/// <summary>
/// The main assembly of an application in its load context, and Main on a thread of its own, which
/// most applications keep for their whole life. Made by the start, owned by the service.
/// </summary>
internal sealed class ApplicationMain
{
    // Untouched pages of a stack cost nothing; one that is too small ends the process.
    private const int StackBytes = 1024 * 1024;

    private readonly TaskCompletionSource _ended =
        new(TaskCreationOptions.RunContinuationsAsynchronously);

    private ApplicationMain(AssemblyLoadContext context, Assembly assembly, MethodInfo entry)
    {
        Context = context;
        Assembly = assembly;
        Entry = entry;
    }

    internal AssemblyLoadContext Context { get; }

    internal Assembly Assembly { get; }

    /// <summary>Completed when Main has returned or thrown.</summary>
    internal Task Ended => _ended.Task;

    private MethodInfo Entry { get; }

    internal static ApplicationMain Load(ServiceSpec spec)
    {
        if (!File.Exists(spec.Application))
            throw new FileNotFoundException($"there is no file {spec.Application}");
        AssemblyLoadContext context =
            SoloProcess.IsSolo ? SoloProcess.Take(spec.Row) : new ApplicationLoadContext(spec);
        Assembly assembly = context.LoadFromAssemblyPath(spec.Application);
        MethodInfo entry = assembly.EntryPoint ??
            throw new InvalidOperationException($"{spec.Application} has no Main");
        return new ApplicationMain(context, assembly, entry);
    }

    internal void Start(Service service)
    {
        var thread = new Thread(() => Run(service), StackBytes)
        {
            IsBackground = true,
            Name = $"main {service.Spec.Name}",
        };
        // The starting thread's context must not come along.
        thread.UnsafeStart();
    }

    private void Run(Service service)
    {
        Exception? exception = null;
        int code = 0;
        try
        {
            service.Enter();
            code = Invoke(service.Spec.Arguments);
        }
        catch (Exception e)
        {
            exception = e;
        }
        service.OnMainEnded(exception, code);
        _ended.TrySetResult();
    }

    private int Invoke(IReadOnlyList<string> arguments)
    {
        object?[] parameters = Entry.GetParameters().Length == 0 ? [] : [arguments.ToArray()];
        object? result = Entry.Invoke(
            null, BindingFlags.DoNotWrapExceptions, null, parameters, null);
        // C# makes a synchronous Main for an asynchronous one; other compilers may not.
        if (result is Task task)
        {
            task.GetAwaiter().GetResult();
            return result is Task<int> withCode ? withCode.Result : 0;
        }
        return result is int code ? code : 0;
    }
}
