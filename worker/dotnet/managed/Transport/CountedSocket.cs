// SPDX-License-Identifier: Apache-2.0

using System;
using System.Buffers.Binary;
using System.Net.Sockets;

namespace Cohost.Worker;

/// <summary>
/// A TCP connection whose bytes are read from the kernel when it is closed: one system call a
/// connection instead of a wrapped pipe. Owned by the server's connection.
/// </summary>
/// <param name="handle">Taken.</param>
/// <param name="closes">Called once: bytes received and bytes sent.</param>
internal sealed class CountedSocket(SafeSocketHandle handle, Action<long, long> closes)
    : Socket(handle)
{
    private const int TcpLevel = 6;
    private const int TcpInfo = 11;

    // Of linux/tcp.h's tcp_info; a kernel before 4.19 gives less, and nothing is counted then.
    private const int BytesReceived = 128;
    private const int NotSentBytes = 144;
    private const int BytesSent = 200;
    private const int BytesRetransmitted = 208;
    private const int Size = 216;
    private const int State = 0;

    // Of include/net/tcp_states.h: those in which the client has ended its stream.
    private const int TimeWait = 6;
    private const int CloseWait = 8;
    private const int LastAck = 9;
    private const int Closing = 11;

    private bool _isClosed;

    protected override void Dispose(bool disposing)
    {
        if (disposing && !_isClosed)
        {
            _isClosed = true;
            Read();
        }
        base.Dispose(disposing);
    }

    private void Read()
    {
        Span<byte> info = stackalloc byte[Size];
        try
        {
            if (GetRawSocketOption(TcpLevel, TcpInfo, info) < Size) return;
        }
        catch (Exception e) when (e is SocketException or ObjectDisposedException)
        {
            // Not TCP, or closed by the other side of a race: its bytes are left out.
            return;
        }
        long sent = Int64(info, BytesSent) - Int64(info, BytesRetransmitted) +
            BinaryPrimitives.ReadUInt32LittleEndian(info[NotSentBytes..]);
        long received = Int64(info, BytesReceived);
        // The kernel counts the end of the client's stream as a byte. Of a connection that is
        // closed on both sides it does not say whether that had come: then it is left in.
        if (info[State] is TimeWait or CloseWait or LastAck or Closing) received--;
        closes(received, sent);
    }

    private static long Int64(ReadOnlySpan<byte> info, int offset) =>
        BinaryPrimitives.ReadInt64LittleEndian(info[offset..]);
}
