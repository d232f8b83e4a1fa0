// SPDX-License-Identifier: Apache-2.0
//
// Ends the process from a request: a host that knows what calls it makes gives it a worker of its own.
var builder = WebApplication.CreateBuilder(args);
var app = builder.Build();

app.MapGet("/", () => "well");
app.MapGet("/exit/{code:int}", (int code) => Environment.Exit(code));

app.Run();
