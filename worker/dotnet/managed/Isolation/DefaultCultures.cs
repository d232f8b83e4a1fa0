// SPDX-License-Identifier: Apache-2.0

using System.Globalization;

namespace Cohost.Worker;

/// <summary>The cultures of threads: an application that changes their default gets its own for
/// each of its requests.</summary>
internal sealed class DefaultCultures : IWatchedPart
{
    private readonly CultureInfo? _culture = CultureInfo.DefaultThreadCurrentCulture;
    private readonly CultureInfo? _uiCulture = CultureInfo.DefaultThreadCurrentUICulture;

    public bool HasChanged =>
        !ReferenceEquals(CultureInfo.DefaultThreadCurrentCulture, _culture) ||
        !ReferenceEquals(CultureInfo.DefaultThreadCurrentUICulture, _uiCulture);

    public void Open(Service service)
    {
    }

    public void Close(Service service)
    {
        if (!ReferenceEquals(CultureInfo.DefaultThreadCurrentCulture, _culture))
        {
            service.Culture = CultureInfo.DefaultThreadCurrentCulture;
            CultureInfo.DefaultThreadCurrentCulture = _culture;
        }
        if (!ReferenceEquals(CultureInfo.DefaultThreadCurrentUICulture, _uiCulture))
        {
            service.UICulture = CultureInfo.DefaultThreadCurrentUICulture;
            CultureInfo.DefaultThreadCurrentUICulture = _uiCulture;
        }
    }
}
