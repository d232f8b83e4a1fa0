// SPDX-License-Identifier: Apache-2.0
using System.Text.Json;
using System.Threading.Channels;

namespace Inbox;

// Thread-safe. Whoever adds waits while it is full.
internal sealed class Queue
{
    private readonly Channel<JsonElement> _messages = Channel.CreateBounded<JsonElement>(1000);
    private long _written;

    public int Waiting => _messages.Reader.Count;

    public long Written => Interlocked.Read(ref _written);

    public ChannelReader<JsonElement> Messages => _messages.Reader;

    public ValueTask AddAsync(JsonElement message) => _messages.Writer.WriteAsync(message);

    public void NoteWritten(int count) => Interlocked.Add(ref _written, count);
}
