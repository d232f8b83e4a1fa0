// SPDX-License-Identifier: Apache-2.0

using System;
using System.Linq;
using Microsoft.Extensions.DependencyInjection;

namespace Cohost.Worker;

/// <summary>Builds the providers of a WebHostBuilder host, with what <see cref="HostWiring"/> adds.
/// </summary>
internal sealed class WebHostProviderFactory(Service service)
    : IServiceProviderFactory<IServiceCollection>
{
    public IServiceCollection CreateBuilder(IServiceCollection services) => services;

    public IServiceProvider CreateServiceProvider(IServiceCollection containerBuilder)
    {
        HostWiring.Apply(service, containerBuilder);
        return FactoryOf(containerBuilder).CreateServiceProvider(containerBuilder);
    }

    // The one that the host would have used: it knows whether scopes are to be checked.
    private static DefaultServiceProviderFactory FactoryOf(IServiceCollection services) =>
        services.Where(descriptor => !descriptor.IsKeyedService)
            .Select(descriptor => descriptor.ImplementationInstance)
            .OfType<DefaultServiceProviderFactory>()
            .LastOrDefault() ?? new DefaultServiceProviderFactory();
}
