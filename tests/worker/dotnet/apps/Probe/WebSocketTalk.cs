// SPDX-License-Identifier: Apache-2.0
using System.Net;
using System.Net.WebSockets;
using System.Text;

namespace Probe;

internal static class WebSocketTalk
{
    private const char RecordSeparator = '\u001e';

    public static async Task<string> RunAsync(IPEndPoint endpoint, Step step, CancellationToken cancellation)
    {
        using var socket = new ClientWebSocket();
        socket.Options.CollectHttpResponseDetails = true;
        socket.Options.SetRequestHeader("Host", Http1Client.Host);
        foreach (var (name, value) in step.Headers)
        {
            if (name == "protocol")
            {
                socket.Options.AddSubProtocol(value);
            }
        }

        var answer = new StringBuilder();
        try
        {
            await socket.ConnectAsync(new Uri($"ws://{endpoint}{step.Target}"), cancellation);
        }
        catch (WebSocketException)
        {
            return $"refused: {(int)socket.HttpStatusCode}\n";
        }

        answer.Append($"open: {(int)socket.HttpStatusCode} {socket.SubProtocol}\n");
        foreach (var text in (step.Body ?? "").Split(" | "))
        {
            var bytes = Encoding.UTF8.GetBytes(text.Replace('~', RecordSeparator));
            await socket.SendAsync(bytes, WebSocketMessageType.Text, true, cancellation);
            answer.Append(await ReceiveAsync(socket, cancellation)).Append('\n');
        }

        await socket.CloseAsync(WebSocketCloseStatus.NormalClosure, "done", cancellation);
        answer.Append($"closed: {socket.CloseStatus} {socket.CloseStatusDescription}\n");
        return answer.ToString();
    }

    private static async Task<string> ReceiveAsync(ClientWebSocket socket, CancellationToken cancellation)
    {
        var message = new MemoryStream();
        var buffer = new byte[4096];
        while (true)
        {
            var part = await socket.ReceiveAsync(buffer, cancellation);
            message.Write(buffer, 0, part.Count);
            if (part.EndOfMessage)
            {
                var text = Encoding.UTF8.GetString(message.ToArray()).Replace(RecordSeparator, '~');
                return $"{part.MessageType}: {text}";
            }
        }
    }
}
