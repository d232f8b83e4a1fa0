// SPDX-License-Identifier: Apache-2.0
//
// OpenTelemetry: the application's own spans and measurements, as its exporter and its listener got them.
using OpenTelemetry.Trace;
using Telemetry;

var builder = WebApplication.CreateBuilder(args);
using var spans = new SpanNotes();
using var measurements = new MeasurementNotes();
builder.Services.AddOpenTelemetry().WithTracing(tracing => tracing
    .AddAspNetCoreInstrumentation()
    .AddSource(Work.SourceName)
    .AddProcessor(spans));
var app = builder.Build();

app.MapGet("/work/{name}", (string name) =>
{
    using var activity = Work.Source.StartActivity($"work {name}");
    return $"did {name}";
});

// What the first COUNT spans were called; waits for them, since a request's span ends after its answer.
app.MapGet("/spans/{count:int}", async (int count) => string.Join('\n', await spans.FirstAsync(count)));
app.MapGet("/requests/{count:int}", async (int count) => string.Join('\n', await measurements.FirstAsync(count)));

app.Run();
