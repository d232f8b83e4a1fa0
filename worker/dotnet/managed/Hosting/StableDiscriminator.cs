// SPDX-License-Identifier: Apache-2.0

using Microsoft.AspNetCore.DataProtection.Infrastructure;

namespace Cohost.Worker;

/// <summary>
/// What tells an application's protected data (logins, antiforgery tokens) from others'. The
/// framework takes the content root path, which changes with every revision of a service.
/// </summary>
internal sealed class StableDiscriminator(string name) : IApplicationDiscriminator
{
    public string Discriminator => name;

    /// <summary>The deployment's name, or one that stays over redeploys.</summary>
    internal static string NameOf(ServiceSpec spec) =>
        spec.DataProtectionName.Length > 0 ? spec.DataProtectionName : $"cohost:{spec.Name}";
}
