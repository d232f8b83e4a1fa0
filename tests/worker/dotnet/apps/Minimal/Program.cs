// SPDX-License-Identifier: Apache-2.0
//
// Minimal hosting: WebApplication and nothing else.
var builder = WebApplication.CreateBuilder(args);
var app = builder.Build();

app.MapGet("/", () => "hello");
// With a length, where the framework cuts other texts into chunks.
app.MapGet("/text", () => Results.Text("hello"));
app.MapGet("/items/{id:int}", (int id) => id < 100
    ? Results.Ok(new Item(id, $"item {id}"))
    : Results.NotFound());
app.MapPost("/items", (Item item) => Results.Created($"/items/{item.Id}", item));
app.MapPost("/length", async (HttpRequest request) =>
{
    using var reader = new StreamReader(request.Body);
    return (await reader.ReadToEndAsync()).Length;
});
app.MapGet("/fail", string () => throw new InvalidOperationException("as asked"));
app.MapGet("/long", () => new string('x', 200_000));
app.MapMethods("/verbs", ["PUT", "PATCH", "DELETE", "OPTIONS"], (HttpRequest request) => request.Method);
app.MapGet("/host", (HttpRequest request) =>
    $"{request.Scheme} {request.Host} {request.PathBase}{request.Path}{request.QueryString} {request.Protocol}");

app.Run();

internal sealed record Item(int Id, string Name);
