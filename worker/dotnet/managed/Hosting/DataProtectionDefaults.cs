// SPDX-License-Identifier: Apache-2.0

using System;
using System.IO;
using System.Linq;
using Microsoft.AspNetCore.DataProtection.Infrastructure;
using Microsoft.AspNetCore.DataProtection.KeyManagement;
using Microsoft.AspNetCore.DataProtection.Repositories;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Options;

namespace Cohost.Worker;

/// <summary>
/// Keeps logins over a redeploy: a discriminator that stays, and the keys in the service's data
/// folder. What the application sets up itself is left alone.
/// </summary>
internal static class DataProtectionDefaults
{
    private const string KeyFolder = "data-protection-keys";

    internal static void Apply(ServiceSpec spec, IServiceCollection services)
    {
        ServiceDescriptor? own = services.LastOrDefault(descriptor =>
            descriptor.ServiceType == typeof(IApplicationDiscriminator));
        if (own is null || IsFramework(own))
        {
            services.AddSingleton<IApplicationDiscriminator>(
                new StableDiscriminator(StableDiscriminator.NameOf(spec)));
        }
        if (spec.DataFolder.Length == 0) return;
        services.AddSingleton<IPostConfigureOptions<KeyManagementOptions>>(provider =>
            new PostConfigureOptions<KeyManagementOptions>(null, options =>
                // Only asked for when the application protects something.
                options.XmlRepository ??= new FileSystemXmlRepository(
                    new DirectoryInfo(Path.Combine(spec.DataFolder, KeyFolder)),
                    provider.GetRequiredService<ILoggerFactory>())));
    }

    // Whether it is the one that AddDataProtection registers.
    private static bool IsFramework(ServiceDescriptor descriptor) =>
        descriptor.ImplementationType?.Assembly == typeof(KeyManagementOptions).Assembly ||
        descriptor.ImplementationType?.Assembly == typeof(IApplicationDiscriminator).Assembly ||
        (descriptor.ImplementationType?.Namespace?.StartsWith(
            "Microsoft.AspNetCore.", StringComparison.Ordinal) ?? false);
}
