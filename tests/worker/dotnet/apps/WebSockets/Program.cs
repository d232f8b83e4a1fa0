// SPDX-License-Identifier: Apache-2.0
//
// WebSockets by hand: sends back what comes, ends when told to.
using System.Net.WebSockets;
using System.Text;

var builder = WebApplication.CreateBuilder(args);
var app = builder.Build();

app.UseWebSockets();
app.Map("/echo", async (HttpContext context) =>
{
    if (!context.WebSockets.IsWebSocketRequest)
    {
        context.Response.StatusCode = StatusCodes.Status426UpgradeRequired;
        return;
    }

    using var socket = await context.WebSockets.AcceptWebSocketAsync("echo");
    var buffer = new byte[4096];
    while (true)
    {
        var received = await socket.ReceiveAsync(buffer, context.RequestAborted);
        if (received.MessageType == WebSocketMessageType.Close)
        {
            await socket.CloseAsync(WebSocketCloseStatus.NormalClosure, "bye", context.RequestAborted);
            return;
        }

        var text = "you said " + Encoding.UTF8.GetString(buffer, 0, received.Count);
        await socket.SendAsync(
            Encoding.UTF8.GetBytes(text), WebSocketMessageType.Text, true, context.RequestAborted);
    }
});

app.Run();
