// SPDX-License-Identifier: Apache-2.0

using Microsoft.AspNetCore.Hosting;
using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.DependencyInjection;

[assembly: HostingStartup(typeof(Cohost.Worker.WebHostStartup))]

namespace Cohost.Worker;

/// <summary>
/// The way into applications of WebHostBuilder, whose hosts raise no events: the start window names
/// the shim as a hosting startup assembly, and this gives them a provider factory that sees the
/// final services. Other hosts are met by <see cref="HostingObserver"/>. Public because ASP.NET
/// Core makes it.
/// </summary>
public sealed class WebHostStartup : IHostingStartup
{
    // Set once, before an application runs.
    internal static ServiceTable? Services { get; set; }

    /// <inheritdoc/>
#pragma warning disable ASPDEPR004 // Old, and what applications still use.
    public void Configure(IWebHostBuilder builder)
    {
        if (builder is not WebHostBuilder || Services?.Current is not { } service) return;
        builder.ConfigureAppConfiguration((_, configuration) =>
            configuration.AddInMemoryCollection(service.Spec.Settings));
        builder.ConfigureServices(services =>
            services.AddSingleton<IServiceProviderFactory<IServiceCollection>>(
                new WebHostProviderFactory(service)));
    }
#pragma warning restore ASPDEPR004
}
