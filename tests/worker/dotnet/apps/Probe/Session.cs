// SPDX-License-Identifier: Apache-2.0
using System.Net;
using System.Text;
using System.Text.RegularExpressions;

namespace Probe;

// One client of one application: its connections, cookies, and what later steps refer to. One thread at a time.
internal sealed partial class Session(IReadOnlyList<IPEndPoint> endpoints)
{
    // For a whole script; a step that hangs is a failure of the application.
    private static readonly TimeSpan Limit = TimeSpan.FromSeconds(60);

    private readonly Dictionary<string, string> cookies = [];
    private string etag = "none";
    private string token = "none";

    public async Task<string> RunAsync(IReadOnlyList<Step> steps)
    {
        using var limit = new CancellationTokenSource(Limit);
        var text = new StringBuilder();
        using var http1 = new Http1Client(endpoints);
        using var http2 = new Http2Client(endpoints);
        foreach (var step in steps)
        {
            text.Append(">>> ").Append(step.Line).Append('\n');
            var filled = Fill(step);
            var answer = step.Kind switch
            {
                StepKind.Http1 => await http1.AskAsync(filled, limit.Token),
                StepKind.WebSocket => await WebSocketTalk.RunAsync(endpoints[step.Endpoint], filled, limit.Token),
                _ => await http2.AskAsync(filled, limit.Token),
            };
            Remember(answer);
            text.Append(Canonical.Of(answer)).Append('\n');
        }

        return text.ToString();
    }

    private Step Fill(Step step)
    {
        string Replace(string value) => value.Replace("{etag}", etag).Replace("{token}", Uri.EscapeDataString(token));
        var headers = step.Headers.Select(header => (header.Name, Replace(header.Value))).ToList();
        if (cookies.Count > 0 && step.Kind is StepKind.Http1)
        {
            headers.Add(("Cookie", string.Join("; ", cookies.Select(cookie => $"{cookie.Key}={cookie.Value}"))));
        }

        return step with { Headers = headers, Body = step.Body is null ? null : Replace(step.Body) };
    }

    private void Remember(string answer)
    {
        foreach (Match match in SetCookie().Matches(answer))
        {
            cookies[match.Groups[1].Value] = match.Groups[2].Value;
        }

        etag = ETag().Match(answer) is { Success: true } newEtag ? newEtag.Groups[1].Value : etag;
        token = Token().Match(answer) is { Success: true } newToken ? newToken.Groups[1].Value : token;
    }

    [GeneratedRegex("^Set-Cookie: ([^=]+)=([^;\r\n]*)", RegexOptions.Multiline | RegexOptions.IgnoreCase)]
    private static partial Regex SetCookie();

    [GeneratedRegex("^ETag: ([^\r\n]+)", RegexOptions.Multiline | RegexOptions.IgnoreCase)]
    private static partial Regex ETag();

    [GeneratedRegex("name=\"__RequestVerificationToken\" type=\"hidden\" value=\"([^\"]+)\"")]
    private static partial Regex Token();
}
