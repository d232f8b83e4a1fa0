// SPDX-License-Identifier: Apache-2.0
//
// One fault for each path, each of a kind that must not end its neighbours; with the setting "fault" one at the start.
using Faulty;

var builder = WebApplication.CreateBuilder(args);
switch (builder.Configuration["fault"])
{
    case "throw":
        throw new InvalidOperationException("this application cannot start");
    case "return":
        return;
    case "hosted service":
        builder.Services.AddHostedService<FailingService>();
        break;
    case "never stops":
        builder.Services.AddHostedService<EndlessService>();
        break;
}

var app = builder.Build();

app.MapGet("/", () => "well");
app.MapGet("/first", () => Interlocked.Exchange(ref Faults.Asked, 1) == 0 ? "first" : "again");
app.MapGet("/thread", () =>
{
    new Thread(() => throw new InvalidOperationException("on a thread")).Start();
    return "thrown";
});
app.MapGet("/pool", () =>
{
    ThreadPool.QueueUserWorkItem(_ => throw new InvalidOperationException("on the pool"));
    return "thrown";
});
app.MapGet("/timer", () =>
{
    Faults.Kept = new Timer(_ => throw new InvalidOperationException("in a timer"), null, 0, Timeout.Infinite);
    return "thrown";
});
app.MapGet("/async-void", () =>
{
    Faults.AsyncVoid();
    return "thrown";
});
app.MapGet("/task", () =>
{
    _ = Task.FromException(new InvalidOperationException("that nobody observes"));
    GC.Collect();
    GC.WaitForPendingFinalizers();
    return "thrown";
});
app.MapGet("/null", () => Faults.DereferenceNull());
app.MapGet("/block/{milliseconds:int}", (int milliseconds) =>
{
    Thread.Sleep(milliseconds);
    return "slept";
});
app.MapGet("/spin/{milliseconds:int}", (int milliseconds) =>
{
    Faults.Spin(milliseconds);
    return "spun";
});
app.MapGet("/temporary", () => Path.GetTempPath());
app.MapGet("/ignore", async () =>
{
    await Faults.Never;
    return "never";
});
app.MapGet("/stop", (IHostApplicationLifetime lifetime) =>
{
    lifetime.StopApplication();
    return "stopping";
});

app.Run();
