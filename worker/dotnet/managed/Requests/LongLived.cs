// SPDX-License-Identifier: Apache-2.0

using System;
using System.IO;
using System.Threading.Tasks;
using Microsoft.AspNetCore.Http.Features;

namespace Cohost.Worker;

/// <summary>
/// Notices when a request becomes one that lasts as long as its client likes: an upgrade, an
/// extended CONNECT, or server-sent events. Such a request leaves the limits of its service then.
/// </summary>
internal static class LongLived
{
    private const string EventStream = "text/event-stream";

    /// <summary>Called before the application sees the request.</summary>
    internal static void Watch(
        IFeatureCollection features, Admission admission, ServiceRequest request)
    {
        if (features.First<IHttpUpgradeFeature>() is { IsUpgradableRequest: true } upgrade)
            features.Set<IHttpUpgradeFeature>(new Upgrade(upgrade, admission, request));
        if (features.First<IHttpExtendedConnectFeature>() is { IsExtendedConnect: true } connect)
        {
            features.Set<IHttpExtendedConnectFeature>(
                new ExtendedConnect(connect, admission, request));
        }
        if (features.First<IHttpRequestFeature>() is { } head &&
            Contains(head.Headers.Accept.ToString()) &&
            features.First<IHttpResponseFeature>() is { } response)
        {
            WatchEvents(response, admission, request);
        }
    }

    private static void WatchEvents(
        IHttpResponseFeature response, Admission admission, ServiceRequest request) =>
        response.OnStarting(
            _ =>
            {
                if (Contains(response.Headers.ContentType.ToString())) admission.Leave(request);
                return Task.CompletedTask;
            },
            request);

    private static bool Contains(string header) =>
        header.Contains(EventStream, StringComparison.OrdinalIgnoreCase);

    private sealed class Upgrade(
        IHttpUpgradeFeature inner, Admission admission, ServiceRequest request)
        : IHttpUpgradeFeature
    {
        public bool IsUpgradableRequest => inner.IsUpgradableRequest;

        public async Task<Stream> UpgradeAsync()
        {
            Stream stream = await inner.UpgradeAsync().ConfigureAwait(false);
            admission.Leave(request);
            return stream;
        }
    }

    private sealed class ExtendedConnect(
        IHttpExtendedConnectFeature inner, Admission admission, ServiceRequest request)
        : IHttpExtendedConnectFeature
    {
        public bool IsExtendedConnect => inner.IsExtendedConnect;

        public string? Protocol => inner.Protocol;

        public async ValueTask<Stream> AcceptAsync()
        {
            Stream stream = await inner.AcceptAsync().ConfigureAwait(false);
            admission.Leave(request);
            return stream;
        }
    }
}
