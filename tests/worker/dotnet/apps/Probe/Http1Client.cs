// SPDX-License-Identifier: Apache-2.0
using System.Net;
using System.Net.Sockets;
using System.Text;

namespace Probe;

// HTTP/1.1 by hand, also inside TLS, so that an answer is told as it came: order and case of headers, trailers, and whether the connection
// stayed. One keep-alive connection for each endpoint, opened again when the server closed it.
internal sealed class Http1Client(IReadOnlyList<IPEndPoint> endpoints) : IDisposable
{
    public const string Host = "application.test";

    private static readonly Encoding s_bytes = Encoding.Latin1;

    private readonly Http1Connection?[] _connections = new Http1Connection?[endpoints.Count];

    public async Task<string> AskAsync(Step step, CancellationToken cancellation)
    {
        var connection = _connections[step.Endpoint] ??=
            await Http1Connection.OpenAsync(endpoints[step.Endpoint], step.Kind is StepKind.Tls, cancellation);
        var chunked = step.Headers.Any(header => header.Name == "Transfer-Encoding");
        var body = s_bytes.GetBytes(step.Body ?? "");
        await connection.SendAsync(Head(step, body.Length, chunked), cancellation);

        var answer = new StringBuilder();
        if (step.Headers.Any(header => header.Name == "Expect"))
        {
            answer.Append(await connection.ReadHeadAsync(cancellation));
        }

        if (step.Body is not null)
        {
            await connection.SendAsync(chunked ? Chunks(step, body) : body, cancellation);
        }

        var (text, stays) = await connection.ReadAnswerAsync(step.Method == "HEAD", cancellation);
        answer.Append(text);
        if (!stays)
        {
            connection.Dispose();
            _connections[step.Endpoint] = null;
        }

        return answer.ToString();
    }

    public void Dispose()
    {
        foreach (var connection in _connections)
        {
            connection?.Dispose();
        }
    }

    private static byte[] Head(Step step, int length, bool chunked)
    {
        var head = new StringBuilder($"{step.Method} {step.Target} HTTP/1.1\r\n");
        if (!step.Headers.Any(header => header.Name == "Host"))
        {
            head.Append($"Host: {Host}\r\n");
        }

        foreach (var (name, value) in step.Headers)
        {
            head.Append($"{name}: {value}\r\n");
        }

        if (!chunked && (step.Body is not null || step.Method is "POST" or "PUT"))
        {
            head.Append($"Content-Length: {length}\r\n");
        }

        return s_bytes.GetBytes(head.Append("\r\n").ToString());
    }

    // In two chunks, and with the trailer that the step announces.
    private static byte[] Chunks(Step step, byte[] body)
    {
        var half = body.Length / 2;
        var trailers = step.Headers.Where(header => header.Name == "Trailer").Select(header => $"{header.Value}: 4\r\n");
        return
        [
            .. s_bytes.GetBytes($"{half:x}\r\n"), .. body[..half],
            .. s_bytes.GetBytes($"\r\n{body.Length - half:x}\r\n"), .. body[half..],
            .. s_bytes.GetBytes("\r\n0\r\n" + string.Concat(trailers) + "\r\n"),
        ];
    }
}
