// SPDX-License-Identifier: Apache-2.0

using System;
using System.Linq;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.DependencyInjection.Extensions;
using Microsoft.Extensions.Hosting;

namespace Cohost.Worker;

/// <summary>
/// What a service's host gets besides its own services: the transport that takes connections from
/// the worker, the wrapped server, and a lifetime that leaves signals to the worker.
/// </summary>
internal static class HostWiring
{
    /// <summary>Called with the final services, before their provider is built.</summary>
    internal static void Apply(Service service, IServiceCollection services)
    {
        services.AddSingleton<IHostLifetime>(new ServiceLifetime());
        DataProtectionDefaults.Apply(service.Spec, services);
        ServiceDescriptor? server = services.LastOrDefault(
            descriptor => descriptor.ServiceType == typeof(IServer) && !descriptor.IsKeyedService);
        if (server is null) return;
        services.AddSingleton<IConnectionListenerFactory>(service.Transport);
        // A QUIC listener would open a socket of its own, which the deployment knows nothing of.
        services.RemoveAll<IMultiplexedConnectionListenerFactory>();
        services.AddSingleton<IServer>(
            provider => new ServiceServer(service, Create(server, provider), provider));
    }

    private static IServer Create(ServiceDescriptor descriptor, IServiceProvider provider) =>
        (IServer)(descriptor.ImplementationInstance
            ?? descriptor.ImplementationFactory?.Invoke(provider)
            ?? ActivatorUtilities.CreateInstance(provider, descriptor.ImplementationType!));
}
