// SPDX-License-Identifier: Apache-2.0
//
// Bodies in parts, both ways: chunks, trailers, server-sent events, informational answers, cut answers.
using System.Net.ServerSentEvents;
using System.Security.Cryptography;

var builder = WebApplication.CreateBuilder(args);
var app = builder.Build();

app.MapGet("/chunks/{count:int}", async (int count, HttpResponse response) =>
{
    for (var i = 1; i <= count; i++)
    {
        await response.WriteAsync($"chunk {i}\n");
        await response.Body.FlushAsync();
    }
});
app.MapGet("/trailers", async (HttpResponse response) =>
{
    // Kestrel has none for HTTP/1.1.
    var supported = response.SupportsTrailers();
    await response.WriteAsync(supported ? "with a trailer" : "without a trailer");
    if (supported)
    {
        response.AppendTrailer("X-Sum", "4");
    }
});
app.MapGet("/numbers/{count:int}", (int count) => Numbers(count));
app.MapGet("/events", () => TypedResults.ServerSentEvents(Events(), "number"));
app.MapPost("/hash", async (HttpRequest request) =>
    Convert.ToHexString(await SHA256.HashDataAsync(request.Body)));
app.MapPost("/back", (HttpRequest request, HttpResponse response) => request.Body.CopyToAsync(response.Body));
app.MapPost("/trailers", async (HttpRequest request) =>
{
    await request.Body.CopyToAsync(Stream.Null);
    return request.CheckTrailersAvailable() ? request.GetTrailer("X-Sum").ToString() : "none";
});
app.MapGet("/cut", async (HttpContext context) =>
{
    await context.Response.WriteAsync("begun");
    await context.Response.Body.FlushAsync();
    context.Abort();
});

app.Run();

static async IAsyncEnumerable<int> Numbers(int count)
{
    for (var i = 1; i <= count; i++)
    {
        await Task.Yield();
        yield return i;
    }
}

static async IAsyncEnumerable<SseItem<int>> Events()
{
    await foreach (var number in Numbers(3))
    {
        yield return new SseItem<int>(number) { EventId = $"{number}" };
    }
}
