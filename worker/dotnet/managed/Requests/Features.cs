// SPDX-License-Identifier: Apache-2.0

using Microsoft.AspNetCore.Http.Features;

namespace Cohost.Worker;

/// <summary>Looks features up at the beginning of a request.</summary>
internal static class Features
{
    /// <summary>As Get does, which compares with a few dozen types. Kestrel's collection is most of
    /// its features itself, and nothing has replaced one yet.</summary>
    internal static T? First<T>(this IFeatureCollection features)
        where T : class =>
        features as T ?? features.Get<T>();
}
