// SPDX-License-Identifier: Apache-2.0

using System;
using System.Diagnostics;
using System.Linq;
using System.Reflection;
using System.Runtime.ExceptionServices;
using System.Runtime.Loader;
using Microsoft.Extensions.Logging;

namespace Cohost.Worker;

/// <summary>
/// Exceptions that nobody catches, on any thread: told as a strike of the service whose code threw,
/// and the process lives on. Called on the thread that threw.
/// </summary>
internal sealed class UnhandledExceptions(IWorker worker)
{
    /// <summary>Once a process.</summary>
    internal void Install() => ExceptionHandling.SetUnhandledExceptionHandler(Handle);

    /// <summary>The service of the running context or, on a thread that was started without one, of
    /// the topmost frame that is an application's.</summary>
    internal static int Blame(Exception exception)
    {
        int row = CurrentService.Row;
        if (row != Boundary.NoService) return row;
        if (SoloProcess.IsSolo) return SoloProcess.Row;
        return new StackTrace(exception).GetFrames()
            .Select(frame => ContextOf(frame.GetMethod()))
            .OfType<ApplicationLoadContext>()
            .FirstOrDefault()?.Row ?? Boundary.NoService;
    }

    private bool Handle(Exception exception)
    {
        int row = Blame(exception);
        if (row == Boundary.NoService)
            worker.Log(row, LogLevel.Critical, Service.LogCategory, exception.ToString());
        else
            worker.Notify(row, Notice.UnhandledException, exception.ToString());
        return true;
    }

    private static AssemblyLoadContext? ContextOf(MethodBase? method) =>
        method?.DeclaringType?.Assembly is { } assembly
            ? AssemblyLoadContext.GetLoadContext(assembly) : null;
}
