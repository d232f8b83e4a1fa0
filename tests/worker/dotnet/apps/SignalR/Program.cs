// SPDX-License-Identifier: Apache-2.0
//
// A hub: calls, streams, and messages to the caller over WebSockets, server-sent events and long polling.
using SignalR;

var builder = WebApplication.CreateBuilder(args);
builder.Services.AddSignalR();
var app = builder.Build();

app.MapHub<SumHub>("/sums");

app.Run();
