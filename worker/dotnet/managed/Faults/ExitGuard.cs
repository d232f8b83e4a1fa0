// SPDX-License-Identifier: Apache-2.0

using System;
using System.Collections.Generic;
using System.Linq;
using System.Runtime.Loader;
using System.Threading;

namespace Cohost.Worker;

/// <summary>
/// Environment.Exit by an application: its first act is to unload the default context, on the
/// finalizer's thread, while the caller waits. That thread is held here for ever: the neighbours go
/// on answering, the worker is told and ends the process when they have moved.
/// </summary>
internal sealed class ExitGuard(IWorker worker, Func<IEnumerable<Service>> services)
{
    internal void Install() => AssemblyLoadContext.Default.Unloading += _ => Hold();

    private void Hold()
    {
        // The caller's thread cannot be seen from here; whose code has the call can.
        Service[] able = [.. services().Where(service =>
            service.State != ServiceState.Ended && ExitCalls.In(service))];
        int row = able.Length == 1 ? able[0].Spec.Row : Boundary.NoService;
        string names = string.Join(", ", able.Select(service => service.Spec.Name));
        worker.Notify(row, Notice.Exit, able.Length switch
        {
            0 => "Environment.Exit was called; no application has the call in its own code",
            1 => "it called Environment.Exit",
            _ => $"Environment.Exit was called by one of: {names}",
        });
        Thread.Sleep(Timeout.Infinite);
    }
}
