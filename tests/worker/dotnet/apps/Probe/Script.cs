// SPDX-License-Identifier: Apache-2.0
namespace Probe;

// A script is a text file with a step on each line; # begins a comment:
//
//   [H2|TLS] METHOD TARGET [NAME=VALUE...] [@ENDPOINT] [-- BODY]   one request: over HTTP/1.1, over HTTP/2 with prior
//                                                              knowledge, or over TLS with any certificate
//   GRPC TARGET -- HEX                                         one call with one message
//   WS TARGET [protocol=NAME] -- TEXT | TEXT...                one WebSocket; each text waits for an answer
//
// Values have no spaces. {etag} is the last ETag that came, {token} the last antiforgery token; ~ in a WebSocket's text is
// the record separator of SignalR. Endpoints are counted from 1.
internal static class Script
{
    public static IReadOnlyList<Step> Read(string path) =>
        [.. File.ReadLines(path).Where(line => line.Length > 0 && line[0] != '#').Select(Parse)];

    private static Step Parse(string line)
    {
        var (request, body) = line.Split(" --", 2) is [var first, var second]
            ? (first, second.TrimStart(' '))
            : (line, null);
        var words = request.Split(' ', StringSplitOptions.RemoveEmptyEntries).AsSpan();
        var kind = words[0] switch
        {
            "H2" => StepKind.Http2,
            "TLS" => StepKind.Tls,
            "GRPC" => StepKind.Grpc,
            "WS" => StepKind.WebSocket,
            _ => StepKind.Http1,
        };
        if (kind is StepKind.Http2 or StepKind.Tls)
        {
            words = words[1..];
        }

        var method = kind switch { StepKind.Grpc => "POST", StepKind.WebSocket => "GET", _ => words[0] };
        var headers = new List<(string, string)>();
        var endpoint = 0;
        foreach (var word in words[2..])
        {
            if (word[0] == '@')
            {
                endpoint = int.Parse(word[1..]) - 1;
                continue;
            }

            var equals = word.IndexOf('=');
            if (equals <= 0)
            {
                throw new FormatException($"'{word}' is not NAME=VALUE: {line}");
            }

            headers.Add((word[..equals], word[(equals + 1)..]));
        }

        return new Step(line, kind, method, words[1], headers, endpoint, body);
    }
}
