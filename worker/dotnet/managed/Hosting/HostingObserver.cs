// SPDX-License-Identifier: Apache-2.0

using System;
using System.Collections.Generic;
using System.Diagnostics;
using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;

namespace Cohost.Worker;

/// <summary>
/// Hears of every host that is built in this process and gives the ones of services what
/// <see cref="HostWiring"/> adds. Called on the building thread.
/// </summary>
internal sealed class HostingObserver(ServiceTable services)
    : IObserver<DiagnosticListener>, IObserver<KeyValuePair<string, object?>>
{
    public void OnNext(DiagnosticListener value)
    {
        if (value.Name == "Microsoft.Extensions.Hosting") value.Subscribe(this);
    }

    public void OnNext(KeyValuePair<string, object?> value)
    {
        if (services.Current is not { } service) return;
        service.Progress();
        switch (value.Key, value.Value)
        {
            case ("HostBuilding", IHostBuilder builder):
                OnBuilding(service, builder);
                break;
            case ("HostBuilt", IHost host):
                OnBuilt(service, host);
                break;
        }
    }

    public void OnCompleted()
    {
    }

    public void OnError(Exception error)
    {
    }

    private static void OnBuilding(Service service, IHostBuilder builder)
    {
        // Both run after everything of the application's own.
        if (service.Spec.Settings.Count > 0)
        {
            builder.ConfigureAppConfiguration((_, configuration) =>
                configuration.AddInMemoryCollection(service.Spec.Settings));
        }
        builder.ConfigureServices((_, collection) => HostWiring.Apply(service, collection));
    }

    private static void OnBuilt(Service service, IHost host)
    {
        var lifetime = host.Services.GetRequiredService<IHostApplicationLifetime>();
        bool hasServer = host.Services.GetService<IServiceProviderIsService>()
            ?.IsService(typeof(IServer)) ?? false;
        service.AddTelemetry(host.Services);
        service.Follow(lifetime, hasServer);
    }
}
