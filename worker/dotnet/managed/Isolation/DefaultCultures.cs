// SPDX-License-Identifier: Apache-2.0

using System.Globalization;

namespace Cohost.Worker;

/// <summary>The cultures of threads: an application that changes them while it starts gets its own
/// for each of its requests.</summary>
internal sealed class DefaultCultures : IProcessPart
{
    private readonly CultureInfo? _culture = CultureInfo.DefaultThreadCurrentCulture;
    private readonly CultureInfo? _uiCulture = CultureInfo.DefaultThreadCurrentUICulture;

    public void Open(Service service)
    {
    }

    public void Close(Service service)
    {
        if (!Equals(CultureInfo.DefaultThreadCurrentCulture, _culture))
        {
            service.Culture = CultureInfo.DefaultThreadCurrentCulture;
            CultureInfo.DefaultThreadCurrentCulture = _culture;
        }
        if (!Equals(CultureInfo.DefaultThreadCurrentUICulture, _uiCulture))
        {
            service.UICulture = CultureInfo.DefaultThreadCurrentUICulture;
            CultureInfo.DefaultThreadCurrentUICulture = _uiCulture;
        }
    }
}
