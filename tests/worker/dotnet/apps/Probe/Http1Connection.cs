// SPDX-License-Identifier: Apache-2.0
using System.Globalization;
using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using System.Security.Cryptography;
using System.Text;

namespace Probe;

// Reads answers off one connection. Bodies are printed as UTF-8, compressed and long ones as
// their hashes.
internal sealed class Http1Connection : IDisposable
{
    private const int MostPrinted = 10_000;

    // How much of a cut answer arrives before the reset is chance.
    private const string Cut = "<cut>\n";

    private readonly Stream _stream;
    private readonly byte[] _buffer = new byte[16 * 1024];
    private int _begin;
    private int _end;

    private Http1Connection(Stream stream) => _stream = stream;

    public static async Task<Http1Connection> OpenAsync(IPEndPoint endpoint, bool tls, CancellationToken cancellation)
    {
        var socket = new Socket(SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        await socket.ConnectAsync(endpoint, cancellation);
        var stream = new NetworkStream(socket, ownsSocket: true);
        if (!tls)
        {
            return new Http1Connection(stream);
        }

        var encrypted = new SslStream(stream, leaveInnerStreamOpen: false, (_, _, _, _) => true);
        await encrypted.AuthenticateAsClientAsync(
            new SslClientAuthenticationOptions { TargetHost = Http1Client.Host }, cancellation);
        return new Http1Connection(encrypted);
    }

    public Task SendAsync(byte[] bytes, CancellationToken cancellation) =>
        _stream.WriteAsync(bytes, cancellation).AsTask();

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

        return head.ToString();
    }

    // The answer, and whether the connection can be used again.
    public async Task<(string Text, bool Stays)> ReadAnswerAsync(bool headOnly, CancellationToken cancellation)
    {
        var head = await ReadHeadAsync(cancellation);
        if (!head.EndsWith("\n\n", StringComparison.Ordinal))
        {
            return (Cut, false);
        }

        var stays = !Has(head, "Connection: close");
        var status = head.Split(' ')[1];
        if (headOnly || status is "204" or "304" || status[0] == '1')
        {
            return (head, stays);
        }

        var compressed = Value(head, "Content-Encoding: ") is "br" or "gzip";
        if (Has(head, "Transfer-Encoding: chunked"))
        {
            var (body, trailers) = await ReadChunksAsync(cancellation);
            return trailers is null ? (Cut, false) : (head + Printed(body, compressed) + trailers, stays);
        }

        if (Value(head, "Content-Length: ") is { } text)
        {
            var length = int.Parse(text, CultureInfo.InvariantCulture);
            var body = await ReadBytesAsync(length, cancellation);
            return body.Length < length ? (Cut, false) : (head + Printed(body, compressed), stays);
        }

        return (head + Printed(await ReadBytesAsync(int.MaxValue, cancellation), compressed) + "\n<closed>", false);
    }

    public void Dispose() => _stream.Dispose();

    private static bool Has(string head, string text) => head.Contains("\n" + text, StringComparison.OrdinalIgnoreCase);

    private static string? Value(string head, string name)
    {
        var at = head.IndexOf("\n" + name, StringComparison.OrdinalIgnoreCase);
        return at < 0 ? null : head[(at + 1 + name.Length)..head.IndexOf('\n', at + 1)];
    }

    private static string Printed(byte[] body, bool compressed) => compressed || body.Length > MostPrinted
        ? $"<{body.Length} bytes: {Convert.ToHexString(SHA256.HashData(body))}>"
        : Encoding.UTF8.GetString(body);

    // Without trailers when the connection ends before the last chunk.
    private async Task<(byte[] Body, string? Trailers)> ReadChunksAsync(CancellationToken cancellation)
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

        return ([.. body], null);
    }

    // Fewer when the connection ends before.
    private async Task<byte[]> ReadBytesAsync(int count, CancellationToken cancellation)
    {
        var bytes = new MemoryStream();
        while (bytes.Length < count && (_begin < _end || await FillAsync(cancellation)))
        {
            var part = (int)Math.Min(_end - _begin, count - bytes.Length);
            bytes.Write(_buffer, _begin, part);
            _begin += part;
        }

        return bytes.ToArray();
    }

    // Without its end; null when the connection ends before one.
    private async Task<string?> ReadLineAsync(CancellationToken cancellation)
    {
        var line = new StringBuilder();
        while (_begin < _end || await FillAsync(cancellation))
        {
            var character = (char)_buffer[_begin++];
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
            (_begin, _end) = (0, await _stream.ReadAsync(_buffer, cancellation));
        }
        catch (IOException exception) when (
            exception.InnerException is SocketException { SocketErrorCode: SocketError.ConnectionReset })
        {
            // An aborted answer ends so.
            (_begin, _end) = (0, 0);
        }

        return _end > 0;
    }
}
