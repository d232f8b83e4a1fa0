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
        if (!HasChanged) return;
        CultureInfo? culture = CultureInfo.DefaultThreadCurrentCulture;
        CultureInfo? uiCulture = CultureInfo.DefaultThreadCurrentUICulture;
        service.SetCultures(
            ReferenceEquals(culture, _culture) ? null : culture,
            ReferenceEquals(uiCulture, _uiCulture) ? null : uiCulture);
        PutBack();
    }

    public void PutBack()
    {
        CultureInfo.DefaultThreadCurrentCulture = _culture;
        CultureInfo.DefaultThreadCurrentUICulture = _uiCulture;
    }
}
