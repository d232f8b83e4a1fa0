// SPDX-License-Identifier: Apache-2.0
using System.Collections.Concurrent;

namespace Chat;

// Thread-safe.
public sealed class Room(string name)
{
    private const int MostKept = 50;

    private readonly ConcurrentQueue<Message> _messages = [];

    public string Name => name;

    public IEnumerable<Message> Latest => _messages;

    public void Add(Message message)
    {
        _messages.Enqueue(message);
        while (_messages.Count > MostKept)
        {
            _messages.TryDequeue(out _);
        }
    }
}
