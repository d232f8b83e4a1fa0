// SPDX-License-Identifier: Apache-2.0
//
// A chat room: a SignalR hub, and a page in wwwroot that talks to it over a WebSocket.
using Chat;

var builder = WebApplication.CreateBuilder(args);
builder.Services.AddSignalR();
builder.Services.AddSingleton(new Room(builder.Configuration["room"] ?? "lobby"));
var app = builder.Build();

app.UseDefaultFiles();
app.UseStaticFiles();
app.MapGet("/room", (Room room) => room.Name);
app.MapGet("/latest", (Room room) => room.Latest);
app.MapHub<ChatHub>("/chat");

app.Run();
