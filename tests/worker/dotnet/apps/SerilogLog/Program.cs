// SPDX-License-Identifier: Apache-2.0
//
// Serilog with its static logger, request logging and a sink of its own: answers what was logged.
using Serilog;
using SerilogLog;

var events = new EventNotes();
Log.Logger = new LoggerConfiguration()
    .MinimumLevel.Override("Microsoft", Serilog.Events.LogEventLevel.Warning)
    .Enrich.FromLogContext()
    .WriteTo.Sink(events)
    .WriteTo.Console()
    .CreateLogger();

var builder = WebApplication.CreateBuilder(args);
builder.Services.AddSerilog();
var app = builder.Build();

app.MapGet("/log/{text}", (string text, ILogger<EventNotes> logger) =>
{
    logger.LogInformation("asked for {Text}", text);
    Log.Warning("statically {Text}", text);
    return "logged";
});
app.MapGet("/events", () => string.Join('\n', events.Rendered));

app.Run();
Log.CloseAndFlush();
