// SPDX-License-Identifier: Apache-2.0

using System;
using System.Threading.Tasks;
using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.AspNetCore.Http.Features;

namespace Cohost.Worker;

/// <summary>
/// An application as its server sees it, entered before each request. The context's type stays the
/// application's, so that the server goes on pooling contexts.
/// </summary>
internal sealed class ServiceApplication<TContext>(
    IHttpApplication<TContext> inner, Service service) : IHttpApplication<TContext>
    where TContext : notnull
{
    public TContext CreateContext(IFeatureCollection contextFeatures)
    {
        service.Enter();
        return inner.CreateContext(contextFeatures);
    }

    public Task ProcessRequestAsync(TContext context) => inner.ProcessRequestAsync(context);

    public void DisposeContext(TContext context, Exception? exception) =>
        inner.DisposeContext(context, exception);
}
