// SPDX-License-Identifier: Apache-2.0
using System.Net;
using System.Net.Sockets;
using System.Net.WebSockets;
using System.Security.Authentication;
using System.Text;
using System.Text.RegularExpressions;

namespace Probe;

// One client of one application: its connections, cookies, and what later steps refer to. One thread at a time.
internal sealed partial class Session(IReadOnlyList<IPEndPoint> endpoints)
{
    // For a whole script; a step that hangs is a failure of the application.
    private static readonly TimeSpan s_limit = TimeSpan.FromSeconds(60);

    private readonly Dictionary<string, string> _cookies = [];
    private string _etag = "none";
    private string _token = "none";

    public async Task<string> RunAsync(IReadOnlyList<Step> steps)
    {
        using var limit = new CancellationTokenSource(s_limit);
        var text = new StringBuilder();
        using var http1 = new Http1Client(endpoints);
        using var http2 = new Http2Client(endpoints);
        foreach (var step in steps)
        {
            text.Append(">>> ").Append(step.Line).Append('\n');
            var filled = Fill(step);
            string answer;
            try
            {
                answer = step.Kind switch
                {
                    StepKind.Http1 or StepKind.Tls => await http1.AskAsync(filled, limit.Token),
                    StepKind.WebSocket => await WebSocketTalk.RunAsync(endpoints[step.Endpoint], filled, limit.Token),
                    _ => await http2.AskAsync(filled, limit.Token),
                };
            }
            catch (Exception exception) when (exception is HttpRequestException or SocketException
                or WebSocketException or OperationCanceledException or AuthenticationException or IOException)
            {
                // Part of what is compared.
                answer = $"<no answer: {exception.GetType().Name}: {exception.Message}>\n";
            }

            Remember(answer);
            text.Append(Canonical.Of(answer)).Append('\n');
        }

        return text.ToString();
    }

    private Step Fill(Step step)
    {
        string Replace(string value) => value.Replace("{etag}", _etag).Replace("{token}", Uri.EscapeDataString(_token));
        var headers = step.Headers.Select(header => (header.Name, Replace(header.Value))).ToList();
        if (_cookies.Count > 0 && step.Kind is StepKind.Http1)
        {
            headers.Add(("Cookie", string.Join("; ", _cookies.Select(cookie => $"{cookie.Key}={cookie.Value}"))));
        }

        return step with { Headers = headers, Body = step.Body is null ? null : Replace(step.Body) };
    }

    private void Remember(string answer)
    {
        foreach (Match match in SetCookie().Matches(answer))
        {
            _cookies[match.Groups[1].Value] = match.Groups[2].Value;
        }

        _etag = ETag().Match(answer) is { Success: true } newEtag ? newEtag.Groups[1].Value : _etag;
        _token = Token().Match(answer) is { Success: true } newToken ? newToken.Groups[1].Value : _token;
    }

    [GeneratedRegex("^Set-Cookie: ([^=]+)=([^;\r\n]*)", RegexOptions.Multiline | RegexOptions.IgnoreCase)]
    private static partial Regex SetCookie();

    [GeneratedRegex("^ETag: ([^\r\n]+)", RegexOptions.Multiline | RegexOptions.IgnoreCase)]
    private static partial Regex ETag();

    [GeneratedRegex("name=\"__RequestVerificationToken\" type=\"hidden\" value=\"([^\"]+)\"")]
    private static partial Regex Token();
}
