// SPDX-License-Identifier: Apache-2.0

using System.Text;
using System.Threading.Tasks;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.AspNetCore.WebUtilities;

namespace Cohost.Worker;

/// <summary>The answers that the host gives instead of an application, as the worker's own HTTP
/// gives them: one line of plain text.</summary>
internal static class HostAnswer
{
    /// <summary>False: an answer has begun already.</summary>
    internal static async Task<bool> WriteAsync(IFeatureCollection features, int code)
    {
        IHttpResponseFeature? response = features.Get<IHttpResponseFeature>();
        if (response is null || response.HasStarted) return false;
        byte[] line = Encoding.ASCII.GetBytes($"{code} {ReasonPhrases.GetReasonPhrase(code)}\n");
        response.Headers.Clear();
        response.StatusCode = code;
        response.Headers.ContentType = "text/plain";
        if (code == StatusCodes.Status503ServiceUnavailable) response.Headers.RetryAfter = "1";
        response.Headers.ContentLength = line.Length;
        bool hasBody = features.Get<IHttpRequestFeature>()?.Method != HttpMethods.Head;
        if (hasBody && features.Get<IHttpResponseBodyFeature>() is { } body)
            await body.Writer.WriteAsync(line).ConfigureAwait(false);
        return true;
    }
}
