// SPDX-License-Identifier: Apache-2.0
using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Text;

namespace Probe;

// Reads answers off one connection. Bodies are printed as UTF-8, those that are compressed as their length.
internal sealed class Http1Connection : IDisposable
{
    private readonly Socket socket = new(SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
    private readonly byte[] buffer = new byte[16 * 1024];
    private int begin;
    private int end;

    private Http1Connection()
    {
    }

    public static async Task<Http1Connection> OpenAsync(IPEndPoint endpoint, CancellationToken cancellation)
    {
        var connection = new Http1Connection();
        await connection.socket.ConnectAsync(endpoint, cancellation);
        return connection;
    }

    public async Task SendAsync(byte[] bytes, CancellationToken cancellation)
    {
        for (var sent = 0; sent < bytes.Length;)
        {
            sent += await socket.SendAsync(bytes.AsMemory(sent), cancellation);
        }
    }

    public async Task<string> ReadHeadAsync(CancellationToken cancellation)
    {
        var head = new StringBuilder();
        while (await ReadLineAsync(cancellation) is { } line)
        {
            head.Append(line).Append('\n');
            if (line.Length == 0)
            {
                return head.ToString();
            }
        }

        return head.Append("<closed>\n").ToString();
    }

    // The answer, and whether the connection can be used again.
    public async Task<(string Text, bool Stays)> ReadAnswerAsync(bool headOnly, CancellationToken cancellation)
    {
        var head = await ReadHeadAsync(cancellation);
        if (!head.EndsWith("\n\n", StringComparison.Ordinal))
        {
            return (head, false);
        }

        var stays = !Has(head, "Connection: close");
        var status = head.Split(' ')[1];
        if (headOnly || status is "204" or "304" || status[0] == '1')
        {
            return (head, stays);
        }

        var compressed = Has(head, "Content-Encoding: ");
        if (Has(head, "Transfer-Encoding: chunked"))
        {
            var (body, trailers) = await ReadChunksAsync(cancellation);
            return (head + Printed(body, compressed) + trailers, stays && trailers != Cut);
        }

        if (Value(head, "Content-Length: ") is { } length)
        {
            var body = await ReadBytesAsync(int.Parse(length, CultureInfo.InvariantCulture), cancellation);
            return (head + Printed(body, compressed), stays);
        }

        return (head + Printed(await ReadBytesAsync(int.MaxValue, cancellation), compressed) + "\n<closed>", false);
    }

    public void Dispose() => socket.Dispose();

    private const string Cut = "\n<cut>";

    private static bool Has(string head, string text) => head.Contains("\n" + text, StringComparison.OrdinalIgnoreCase);

    private static string? Value(string head, string name)
    {
        var at = head.IndexOf("\n" + name, StringComparison.OrdinalIgnoreCase);
        return at < 0 ? null : head[(at + 1 + name.Length)..head.IndexOf('\n', at + 1)];
    }

    private static string Printed(byte[] body, bool compressed) =>
        compressed ? $"<{body.Length} bytes>" : Encoding.UTF8.GetString(body);

    private async Task<(byte[] Body, string Trailers)> ReadChunksAsync(CancellationToken cancellation)
    {
        var body = new List<byte>();
        while (await ReadLineAsync(cancellation) is { } size)
        {
            var length = int.Parse(size, NumberStyles.HexNumber, CultureInfo.InvariantCulture);
            if (length == 0)
            {
                var trailers = await ReadHeadAsync(cancellation);
                return ([.. body], trailers == "\n" ? "" : "\n" + trailers);
            }

            body.AddRange(await ReadBytesAsync(length, cancellation));
            await ReadLineAsync(cancellation);
        }

        return ([.. body], Cut);
    }

    // Fewer when the connection ends before.
    private async Task<byte[]> ReadBytesAsync(int count, CancellationToken cancellation)
    {
        var bytes = new MemoryStream();
        while (bytes.Length < count && (begin < end || await FillAsync(cancellation)))
        {
            var part = (int)Math.Min(end - begin, count - bytes.Length);
            bytes.Write(buffer, begin, part);
            begin += part;
        }

        return bytes.ToArray();
    }

    // Without its end; null when the connection ends before one.
    private async Task<string?> ReadLineAsync(CancellationToken cancellation)
    {
        var line = new StringBuilder();
        while (begin < end || await FillAsync(cancellation))
        {
            var character = (char)buffer[begin++];
            if (character == '\n')
            {
                return line.ToString();
            }

            if (character != '\r')
            {
                line.Append(character);
            }
        }

        return null;
    }

    private async Task<bool> FillAsync(CancellationToken cancellation)
    {
        try
        {
            (begin, end) = (0, await socket.ReceiveAsync(buffer, cancellation));
        }
        catch (SocketException exception) when (exception.SocketErrorCode is SocketError.ConnectionReset)
        {
            // An aborted answer ends so.
            (begin, end) = (0, 0);
        }

        return end > 0;
    }
}
