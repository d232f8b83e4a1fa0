// SPDX-License-Identifier: Apache-2.0

using System;
using System.Threading.Tasks;
using Microsoft.AspNetCore.Connections.Features;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;

namespace Cohost.Worker;

/// <summary>
/// The requests of one service: their beginning and end at the server, their limits and counters.
/// Thread-safe. Owned by the service.
/// </summary>
internal sealed class ServiceRequests
{
    private readonly ServiceSpec _spec;
    private readonly ConnectionRegistry _connections;
    private readonly ServiceCounters _counters;
    private readonly IWorker _worker;
    private readonly TimeProvider _clock;
    private readonly Action _begins;

    internal ServiceRequests(
        ServiceSpec spec, ConnectionRegistry connections, ServiceCounters counters,
        IWorker worker, TimeProvider clock, Action begins)
    {
        _begins = begins;
        _spec = spec;
        _connections = connections;
        _worker = worker;
        _clock = clock;
        _counters = counters;
        Admission = new Admission(
            spec.Concurrency, spec.Queue, spec.RequestTimeout, clock, OnOverdue);
    }

    internal Admission Admission { get; }

    /// <summary>A request's head was read. Its lifetime feature is the
    /// <see cref="ServiceRequest"/> from now on.</summary>
    internal void Begin(IFeatureCollection features, ClientConnection? connection)
    {
        _counters.RequestStarted();
        _begins();
        var request = new ServiceRequest(
            features.First<IHttpRequestLifetimeFeature>()!, _clock.GetTimestamp())
        {
            Connection = connection,
            Response = features.First<IHttpResponseFeature>(),
        };
        features.Set<IHttpRequestLifetimeFeature>(request);
        LongLived.Watch(features, Admission, request);
        if (connection is not null) Begin(connection, features);
    }

    /// <summary>The answer has been handed on, or will never be.</summary>
    internal void End(ServiceRequest request)
    {
        int code = request.HasAnswer ? request.Response!.StatusCode : 0;
        TimeSpan elapsed = _clock.GetElapsedTime(request.Start);
        _counters.RequestFinished(code, elapsed.Ticks * TimeSpan.NanosecondsPerTick);
        request.Connection?.RequestEnds();
        request.Release();
    }

    /// <summary>Answers for the application what <paramref name="result"/> asks for.</summary>
    internal async Task RefuseAsync(IFeatureCollection features, AdmissionResult result)
    {
        (int code, LimitHit limit) = result switch
        {
            AdmissionResult.Refused =>
                (StatusCodes.Status503ServiceUnavailable, LimitHit.QueueFull),
            AdmissionResult.TimedOut =>
                (StatusCodes.Status504GatewayTimeout, LimitHit.RequestTimeout),
            _ => default,
        };
        // An abandoned request has nobody to answer to.
        if (code != 0 && await HostAnswer.WriteAsync(features, code).ConfigureAwait(false))
            _counters.LimitWasHit(limit);
    }

    private void Begin(ClientConnection connection, IFeatureCollection features)
    {
        connection.RequestBegins();
        IHttpRequestFeature request = features.First<IHttpRequestFeature>()!;
        if (!connection.IsMultiplexed && !HttpProtocol.IsHttp11(request.Protocol) &&
            !HttpProtocol.IsHttp10(request.Protocol))
        {
            connection.IsMultiplexed = true;
        }
        if (!_connections.IsDraining) return;
        if (connection.IsMultiplexed)
            features.Get<IConnectionLifetimeNotificationFeature>()?.RequestClose();
        else if (features.Get<IHttpResponseFeature>() is { } response)
            response.Headers.Connection = "close";
    }

    private void OnOverdue(ServiceRequest request)
    {
        _worker.Notify(_spec.Row, Notice.OverdueRequest,
            $"a request runs on {Admission.CancelGrace.TotalSeconds:F0} s after it was cancelled " +
            $"at its limit of {_spec.RequestTimeout.TotalSeconds:0.###} s; its connection is cut");
        request.Abort();
    }
}
