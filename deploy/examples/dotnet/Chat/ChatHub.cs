// SPDX-License-Identifier: Apache-2.0
using Microsoft.AspNetCore.SignalR;

namespace Chat;

public sealed class ChatHub(Room room) : Hub
{
    public Task Say(string from, string text)
    {
        var message = new Message(from, text);
        room.Add(message);
        return Clients.All.SendAsync("said", message);
    }
}
