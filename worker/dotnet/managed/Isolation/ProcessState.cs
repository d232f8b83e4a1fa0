// SPDX-License-Identifier: Apache-2.0

using System;
using System.Collections.Generic;
using System.Linq;
using Microsoft.Extensions.Logging;

namespace Cohost.Worker;

/// <summary>
/// All parts of the process's state that applications take for their own. A window makes them one
/// application's while that starts. On the starting thread only.
/// </summary>
internal sealed class ProcessState(IWorker worker, IReadOnlyList<IProcessPart> parts)
{
    /// <summary>The window closes when the result is disposed.</summary>
    internal IDisposable OpenWindow(Service service)
    {
        var window = new Window(this, service);
        try
        {
            foreach (IProcessPart part in parts) part.Open(service);
        }
        catch
        {
            window.Dispose();
            throw;
        }
        return window;
    }

    private void Close(Service service)
    {
        foreach (IProcessPart part in parts.Reverse())
        {
            try
            {
                part.Close(service);
            }
            catch (Exception e)
            {
                // The others must be put back all the same.
                worker.Log(service.Spec.Row, LogLevel.Error, Service.LogCategory, e.ToString());
            }
        }
    }

    private sealed class Window(ProcessState process, Service service) : IDisposable
    {
        public void Dispose() => process.Close(service);
    }
}
