// SPDX-License-Identifier: Apache-2.0

using System.Diagnostics;

namespace Cohost.Worker;

/// <summary>Builds the shim's parts, in the order in which they need one another.</summary>
internal static class Shim
{
    /// <summary>Called once a process, before any application is loaded.</summary>
    internal static ServiceTable Create(IWorker worker)
    {
        var process = new ProcessState();
        var services = new ServiceTable(worker, process);
        DiagnosticListener.AllListeners.Subscribe(new HostingObserver(services));
        WebHostStartup.Services = services;
        return services;
    }
}
