// SPDX-License-Identifier: Apache-2.0

using System;
using System.Collections.Generic;
using System.Diagnostics;
using Microsoft.Extensions.Logging;

namespace Cohost.Worker;

/// <summary>Builds the shim's parts, in the order in which they need one another.</summary>
internal static class Shim
{
    /// <summary>Called once a process, before any application is loaded.</summary>
    internal static ServiceTable Create(IWorker worker)
    {
        foreach (string part in FrameworkInternals.Missing())
        {
            Log(worker, LogLevel.Warning, $"this runtime ({Environment.Version}) has no {part}, " +
                $"which {FrameworkInternals.SeenIn} has: what needs it is off");
        }
        if (SoloProcess.IsSolo) SoloProcess.Install();
        var services = new ServiceTable(worker);
        var pool = new ThreadPoolLimits();
        var watch = new PoolWatch(
            pool, services.InFlight, text => Log(worker, LogLevel.Warning, text));
        watch.Begin();
        IReadOnlyList<IProcessPart> parts = Parts(worker, services, pool);
        services.Begin(new ProcessState(worker, parts, services.IsAlone), watch);
        DiagnosticListener.AllListeners.Subscribe(new HostingObserver(services));
        WebHostStartup.Services = services;
        new UnhandledExceptions(worker).Install();
        new ExitGuard(worker, () => services.All).Install();
        return services;
    }

    private static IReadOnlyList<IProcessPart> Parts(
        IWorker worker, ServiceTable services, ThreadPoolLimits pool)
    {
        var environment = new EnvironmentVariables();
        if (FileWatchers.WhyPolling() is { } reason)
        {
            environment.SetDefault(FileWatchers.PollingVariable, "1");
            Log(worker, LogLevel.Information, reason);
        }
        return
        [
            environment,
            new CommandLine(),
            new EntryAssembly(() => services.Current),
            new ApplicationContextData(),
            new DefaultCultures(),
            pool,
            new ConsoleStreams(worker),
            new TelemetryListeners(() => services.All),
        ];
    }

    private static void Log(IWorker worker, LogLevel level, string text) =>
        worker.Log(Boundary.NoService, level, Service.LogCategory, text);
}
