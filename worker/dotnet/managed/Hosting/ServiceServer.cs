// SPDX-License-Identifier: Apache-2.0

using System;
using System.Threading;
using System.Threading.Tasks;
using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;

namespace Cohost.Worker;

/// <summary>
/// The application's own server, with every request inside of <see cref="ServiceApplication{T}"/>.
/// Owned by the application's container, which disposes it.
/// </summary>
internal sealed class ServiceServer(Service service, IServer inner, IServiceProvider provider)
    : IServer
{
    public IFeatureCollection Features => inner.Features;

    public async Task StartAsync<TContext>(
        IHttpApplication<TContext> application, CancellationToken cancellationToken)
        where TContext : notnull
    {
        service.AddTelemetry(provider);
        // Hosts of WebHostBuilder raise no event, so this is where they are met first.
        service.Follow(
            provider.GetRequiredService<IHostApplicationLifetime>(), hasServer: true);
        var wrapped = new ServiceApplication<TContext>(application, service);
        if (!wrapped.SeesRequests)
        {
            service.Warn("its requests are neither limited nor counted: " +
                $"the host's context is {typeof(TContext)}");
        }
        await inner.StartAsync(wrapped, cancellationToken).ConfigureAwait(false);
        service.Transport.MapEndpoints(new EndpointInspector(provider));
        service.ServerStarted();
    }

    public Task StopAsync(CancellationToken cancellationToken) =>
        inner.StopAsync(cancellationToken);

    public void Dispose() => inner.Dispose();
}
