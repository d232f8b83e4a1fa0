// SPDX-License-Identifier: Apache-2.0
//
// NLog from nlog.config, with its static LogManager: answers what its memory target got.
using NLog;
using NLog.Targets;
using NLog.Web;

var builder = WebApplication.CreateBuilder(args);
builder.Logging.ClearProviders();
builder.Host.UseNLog();
var app = builder.Build();

app.MapGet("/log/{text}", (string text, ILogger<Program> logger) =>
{
    logger.LogInformation("asked for {Text}", text);
    LogManager.GetLogger("static").Warn("statically {0}", text);
    return "logged";
});
app.MapGet("/events", () =>
    string.Join('\n', LogManager.Configuration!.FindTargetByName<MemoryTarget>("memory")!.Logs));

app.Run();
LogManager.Shutdown();
