// SPDX-License-Identifier: Apache-2.0

using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Diagnostics.Metrics;
using System.Globalization;
using System.Threading;
using System.Threading.Tasks;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;

namespace Cohost.Worker;

/// <summary>
/// One service: its application's load context, Main and hosts, and its connections and requests.
/// Made and started by <see cref="StartSequence"/>. Thread-safe. Ends with its application; the
/// load context stays.
/// </summary>
internal sealed class Service
{
    internal const string LogCategory = "Cohost.Worker";

    private readonly IWorker _worker;
    private readonly Lock _lock = new();
    private readonly TaskCompletionSource<StartOutcome> _started =
        new(TaskCreationOptions.RunContinuationsAsynchronously);

    // Guarded by _lock.
    private readonly HashSet<IMeterFactory> _meters = [];
    private readonly HashSet<DiagnosticListener> _listeners = [];
    private IHostApplicationLifetime? _lifetime;
    private bool _stopping;
    private bool _endTold;

    private volatile ServiceState _state;

    private volatile Cultures _cultures = new(null, null);

    /// <param name="spec">What it is loaded with.</param>
    /// <param name="worker">Told what becomes of it.</param>
    /// <param name="process">Shared with its neighbours.</param>
    /// <param name="requestBegins">Called for each of its requests.</param>
    internal Service(
        ServiceSpec spec, IWorker worker, ProcessState process, Action requestBegins)
    {
        Spec = spec;
        Process = process;
        _worker = worker;
        Tag = new ServiceTag(spec.Row);
        Connections = new ConnectionRegistry(spec.Row, worker);
        var counters = new ServiceCounters(spec.SegmentRow);
        Transport = new ServiceTransport(spec, Connections, counters, worker);
        Requests = new ServiceRequests(
            spec, Connections, counters, worker, TimeProvider.System, requestBegins);
    }

    internal ServiceSpec Spec { get; }

    internal ProcessState Process { get; }

    /// <summary>What <see cref="CurrentService"/> holds on the service's threads.</summary>
    internal ServiceTag Tag { get; }

    internal ConnectionRegistry Connections { get; }

    internal ServiceTransport Transport { get; }

    internal ServiceRequests Requests { get; }

    internal ServiceState State => _state;

    /// <summary>Set by the start, before Main runs.</summary>
    internal ApplicationMain? Main { get; set; }

    /// <summary>Default cultures that the application set for itself.</summary>
    internal Cultures Cultures => _cultures;

    /// <summary>Whether a server listens, although its host may not have started whole.</summary>
    internal bool Listens { get; private set; }

    /// <summary>Whether the calling code belongs to it.</summary>
    internal bool IsCurrent => CurrentService.Row == Spec.Row;

    /// <summary>Ends with the start, one way or the other.</summary>
    internal Task<StartOutcome> Started => _started.Task;

    /// <summary>Makes the calling code the service's, with everything that follows it.</summary>
    internal void Enter()
    {
        CurrentService.Set(Tag);
        Main!.Context.EnterContextualReflection();
    }

    /// <summary>The same for a request, which has the cultures that the application set.</summary>
    /// <param name="contexts">Those of the request's connection: the server begins each of its
    /// requests in the same one, so what this makes of it is made once. Null: no connection of
    /// ours.</param>
    internal void EnterRequest(RequestContexts? contexts)
    {
        if (contexts is not null && contexts.TryEnter(_cultures)) return;
        ExecutionContext? before = ExecutionContext.Capture();
        Enter();
        Cultures cultures = _cultures;
        if (cultures.Culture is { } culture) CultureInfo.CurrentCulture = culture;
        if (cultures.UICulture is { } uiCulture) CultureInfo.CurrentUICulture = uiCulture;
        contexts?.Keep(before, ExecutionContext.Capture(), cultures);
    }

    /// <summary>Null: as it was.</summary>
    internal void SetCultures(CultureInfo? culture, CultureInfo? uiCulture) => _cultures =
        new Cultures(culture ?? _cultures.Culture, uiCulture ?? _cultures.UICulture);

    /// <summary>A host of the application begins to start. Its lifetime is the service's when it is
    /// the first, or the first with a server.</summary>
    internal void Follow(IHostApplicationLifetime lifetime, bool hasServer)
    {
        lock (_lock)
        {
            if (ReferenceEquals(_lifetime, lifetime)) return;
            if (_lifetime is not null && !hasServer) return;
            _lifetime = lifetime;
        }
        lifetime.ApplicationStarted.Register(() => OnHostStarted(lifetime));
        lifetime.ApplicationStopping.Register(() => OnHostStopping(lifetime));
    }

    /// <summary>Remembers what of a host's telemetry is the service's own.</summary>
    internal void AddTelemetry(IServiceProvider host)
    {
        var meters = host.GetService<IMeterFactory>();
        var listener = host.GetService<DiagnosticListener>();
        lock (_lock)
        {
            if (meters is not null) _meters.Add(meters);
            if (listener is not null) _listeners.Add(listener);
        }
    }

    internal bool OwnsMeters(IMeterFactory factory)
    {
        lock (_lock) return _meters.Contains(factory);
    }

    internal bool Owns(DiagnosticListener listener)
    {
        lock (_lock) return _listeners.Contains(listener);
    }

    internal void ServerStarted()
    {
        Listens = true;
        Progress();
    }

    /// <summary>A further step of the start is done.</summary>
    internal void Progress() => _worker.Progress(Spec.Row);

    /// <summary>Called by the start when it has ended well. False: it has stopped in the
    /// meantime.</summary>
    internal bool TryRun()
    {
        lock (_lock)
        {
            if (_state != ServiceState.Starting) return false;
            _state = ServiceState.Running;
            return true;
        }
    }

    /// <summary>Main will never run.</summary>
    internal void OnNotLoaded()
    {
        lock (_lock) _state = ServiceState.Ended;
    }

    /// <summary>Main has ended: with an exception, or returned with that code.</summary>
    internal void OnMainEnded(Exception? exception, int code)
    {
        bool running, asked;
        lock (_lock)
        {
            running = _state is not (ServiceState.Starting or ServiceState.Ended);
            asked = _stopping;
            _state = ServiceState.Ended;
        }
        Connections.AbortAll();
        if (_started.TrySetResult(StartOutcome.MainEnded(exception, code))) return;
        if (exception is not null)
            _worker.Notify(Spec.Row, Notice.UnhandledException, exception.ToString());
        if (running && !asked) TellEnd(exception?.Message ?? $"Main returned {code}");
    }

    internal Boundary.ServiceGauges Gauges()
    {
        Boundary.ServiceGauges gauges = Requests.Admission.Gauges();
        gauges.AllocatedBytes = (ulong)Tag.AllocatedBytes;
        return gauges;
    }

    internal void Drain(TimeSpan grace, TimeSpan limit) => Connections.Drain(grace, limit);

    /// <summary>Asks the application's host to stop and tells the worker when Main has ended, or at
    /// the limit.</summary>
    /// <param name="limit">When it is told in any case.</param>
    /// <param name="ended">Called before that when Main has ended.</param>
    internal void Stop(TimeSpan limit, Action ended)
    {
        IHostApplicationLifetime? lifetime;
        lock (_lock)
        {
            if (_stopping) return;
            _stopping = true;
            if (_state != ServiceState.Ended) _state = ServiceState.Stopping;
            lifetime = _lifetime;
        }
        _ = Task.Run(() => StopAsync(lifetime, limit, ended));
    }

    internal void Warn(string text) => _worker.Notify(Spec.Row, Notice.Warning, text);

    private async Task StopAsync(
        IHostApplicationLifetime? lifetime, TimeSpan limit, Action ended)
    {
        try
        {
            Task main = Main?.Ended ?? Task.CompletedTask;
            // Callbacks of the application run inside of it, and may take their time.
            if (!main.IsCompleted && lifetime is not null) _ = Task.Run(() => Stop(lifetime));
            await main.WaitAsync(limit).ConfigureAwait(false);
            ended();
        }
        catch (TimeoutException)
        {
            _worker.Log(Spec.Row, LogLevel.Warning, LogCategory,
                $"it did not stop within {limit.TotalSeconds:F0} s");
        }
        catch (Exception e)
        {
            _worker.Log(Spec.Row, LogLevel.Error, LogCategory, e.ToString());
        }
        _worker.Stopped(Spec.Row);
    }

    private void Stop(IHostApplicationLifetime lifetime)
    {
        try
        {
            Enter();
            lifetime.StopApplication();
        }
        catch (Exception e)
        {
            _worker.Log(Spec.Row, LogLevel.Error, LogCategory, e.ToString());
        }
    }

    private void OnHostStarted(IHostApplicationLifetime lifetime)
    {
        bool stop;
        lock (_lock)
        {
            if (!ReferenceEquals(_lifetime, lifetime)) return;
            stop = _stopping;
        }
        _started.TrySetResult(StartOutcome.HostStarted);
        // It was asked to while it had no lifetime yet.
        if (stop) lifetime.StopApplication();
    }

    private void OnHostStopping(IHostApplicationLifetime lifetime)
    {
        lock (_lock)
        {
            if (!ReferenceEquals(_lifetime, lifetime) || _stopping) return;
            // While it starts, the end of the start tells.
            bool starts = _state == ServiceState.Starting;
            if (_state != ServiceState.Ended) _state = ServiceState.Stopping;
            if (starts || _state == ServiceState.Ended) return;
        }
        TellEnd("its host stops by itself (IHostApplicationLifetime.StopApplication)");
    }

    private void TellEnd(string reason)
    {
        lock (_lock)
        {
            if (_endTold) return;
            _endTold = true;
        }
        _worker.Notify(Spec.Row, Notice.Ended, reason);
    }
}
