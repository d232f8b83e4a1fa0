// SPDX-License-Identifier: Apache-2.0

using System;
using System.IO;
using Microsoft.Extensions.Logging;

namespace Cohost.Worker;

/// <summary>
/// Starts one application: opens the window in which the process-wide state is the application's,
/// runs its Main, and waits until its host has started, Main has ended, or the window's time is
/// over. On the starting thread only.
/// </summary>
internal sealed class StartSequence(IWorker worker, ProcessState process)
{
    // Longer than any start that is well; the next application waits for it.
    private static readonly TimeSpan s_windowLimit = TimeSpan.FromSeconds(30);

    internal void Run(Service service)
    {
        int row = service.Spec.Row;
        try
        {
            worker.Progress(row);
            if (service.State != ServiceState.Starting)
            {
                worker.Started(row, "it was stopped before it had started");
                return;
            }
            ApplicationMain main = ApplicationMain.Load(service.Spec);
            service.Main = main;
            worker.SetFolder(row, service.Spec.Folder);
            bool inTime;
            using (process.OpenWindow(service))
            {
                main.Start(service);
                inTime = service.Started.Wait(s_windowLimit);
            }
            if (inTime) Finish(service, service.Started.Result);
            else FinishLate(service);
        }
        catch (Exception e)
        {
            service.OnNotLoaded();
            worker.Started(row, e is FileNotFoundException ? e.Message : e.ToString());
        }
    }

    private void Finish(Service service, StartOutcome outcome)
    {
        if (outcome.Failure is null)
        {
            if (!service.TryRun())
            {
                worker.Started(service.Spec.Row, "it stopped before its start had ended");
                return;
            }
            if (service.Spec.Endpoints.Count > 0 && !service.Transport.IsMapped)
                service.Warn("it has no server that takes connections from the worker");
        }
        worker.Started(service.Spec.Row, outcome.Failure);
    }

    // The others must not wait for it any longer.
    private void FinishLate(Service service)
    {
        int row = service.Spec.Row;
        if (service.Listens)
        {
            worker.Log(row, LogLevel.Warning, Service.LogCategory,
                "its server listens, but the start of its host has not ended");
            Finish(service, StartOutcome.HostStarted);
            return;
        }
        worker.Notify(row, Notice.Warning,
            $"its start takes longer than {s_windowLimit.TotalSeconds:F0} s: the rest of it runs " +
            "beside other starts, without its environment variables");
        service.Started.ContinueWith(
            task => Finish(service, task.Result), System.Threading.Tasks.TaskScheduler.Default);
    }
}
