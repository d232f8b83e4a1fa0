// SPDX-License-Identifier: Apache-2.0

using System;
using System.IO;
using Microsoft.Extensions.Logging;

namespace Cohost.Worker;

/// <summary>Console.Out and Console.Error of each service. An application that sets other writers
/// sets them for itself.</summary>
#pragma warning disable CA1001 // The routers live as long as the process.
internal sealed class ConsoleStreams : IWatchedPart
#pragma warning restore CA1001
{
    private readonly ConsoleRouter _out;
    private readonly ConsoleRouter _error;

    // What Console gives back, which may be a wrapper of the two.
    private readonly TextWriter _installedOut;
    private readonly TextWriter _installedError;

    internal ConsoleStreams(IWorker worker)
    {
        _out = new ConsoleRouter("stdout", LogLevel.Information, worker, Console.Out);
        _error = new ConsoleRouter("stderr", LogLevel.Warning, worker, Console.Error);
        FrameworkInternals.SetConsole(_out, _error);
        _installedOut = Console.Out;
        _installedError = Console.Error;
    }

    public bool HasChanged =>
        !ReferenceEquals(Console.Out, _installedOut) ||
        !ReferenceEquals(Console.Error, _installedError);

    public void Open(Service service)
    {
    }

    public void Close(Service service)
    {
        if (!HasChanged) return;
        TextWriter output = Console.Out;
        TextWriter error = Console.Error;
        int row = service.Spec.Row;
        if (!ReferenceEquals(output, _installedOut)) _out.Replace(row, output);
        if (!ReferenceEquals(error, _installedError)) _error.Replace(row, error);
        PutBack();
    }

    public void PutBack() => FrameworkInternals.SetConsole(_installedOut, _installedError);
}
