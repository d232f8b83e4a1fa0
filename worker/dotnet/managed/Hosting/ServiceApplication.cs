// SPDX-License-Identifier: Apache-2.0

using System;
using System.Threading.Tasks;
using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;

namespace Cohost.Worker;

/// <summary>
/// An application as its server sees it: each request is made the service's, waits for its turn
/// outside of the application's code, and is counted. The context's type stays the application's,
/// so that the server goes on pooling contexts; the request is found through its HttpContext.
/// </summary>
internal sealed class ServiceApplication<TContext>(
    IHttpApplication<TContext> inner, Service service) : IHttpApplication<TContext>
    where TContext : notnull
{
    private readonly Func<TContext, HttpContext?>? _httpContext =
        FrameworkInternals.HttpContextOf<TContext>();

    /// <summary>Whether requests are limited and counted.</summary>
    internal bool SeesRequests => _httpContext is not null;

    public TContext CreateContext(IFeatureCollection contextFeatures)
    {
        ClientConnection? connection = contextFeatures.Get<ClientConnection>();
        service.EnterRequest(connection?.RequestContexts);
        if (SeesRequests) service.Requests.Begin(contextFeatures, connection);
        return inner.CreateContext(contextFeatures);
    }

    public Task ProcessRequestAsync(TContext context)
    {
        IFeatureCollection? features = _httpContext?.Invoke(context)?.Features;
        ServiceRequest? request = features is null ? null : ServiceRequest.Of(features);
        if (request is null) return inner.ProcessRequestAsync(context);
        AdmissionResult result = service.Requests.Admission.TryEnter(request);
        return result == AdmissionResult.Entered
            ? Process(context, features!, request)
            : WaitAsync(result, context, features!, request);
    }

    public void DisposeContext(TContext context, Exception? exception)
    {
        IFeatureCollection? features = _httpContext?.Invoke(context)?.Features;
        if (features is not null && ServiceRequest.Of(features) is { } request)
            service.Requests.End(request);
        inner.DisposeContext(context, exception);
    }

    private async Task WaitAsync(
        AdmissionResult result, TContext context, IFeatureCollection features,
        ServiceRequest request)
    {
        if (result == AdmissionResult.Queued)
            result = await service.Requests.Admission.WaitAsync(request).ConfigureAwait(false);
        if (result == AdmissionResult.Entered)
            await Process(context, features, request).ConfigureAwait(false);
        else
            await service.Requests.RefuseAsync(features, result).ConfigureAwait(false);
    }

    // Most requests are answered without a wait, and then nothing is made that could wait.
    private Task Process(TContext context, IFeatureCollection features, ServiceRequest request)
    {
        Task work;
        try
        {
            work = inner.ProcessRequestAsync(context);
        }
        catch (Exception e)
        {
            work = Task.FromException(e);
        }
        if (!work.IsCompletedSuccessfully || request.TimedOut)
            return EndAsync(work, features, request);
        Leave(features, request);
        return work;
    }

    private async Task EndAsync(Task work, IFeatureCollection features, ServiceRequest request)
    {
        try
        {
            await work.ConfigureAwait(false);
        }
        catch (OperationCanceledException) when (request.TimedOut)
        {
            // It gave up when it was asked to.
        }
        finally
        {
            Leave(features, request);
        }
        if (request.TimedOut)
        {
            await service.Requests.RefuseAsync(features, AdmissionResult.TimedOut)
                .ConfigureAwait(false);
        }
    }

    private void Leave(IFeatureCollection features, ServiceRequest request)
    {
        service.Process.AfterRequest(service);
        service.Requests.Admission.Leave(request);
        request.StayIn(features);
    }
}
