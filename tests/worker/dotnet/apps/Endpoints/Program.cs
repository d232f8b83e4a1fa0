// SPDX-License-Identifier: Apache-2.0
//
// Two endpoints that the application's own settings name: HTTP/1 for people, HTTP/2 cleartext for programs.
var builder = WebApplication.CreateBuilder(args);
builder.WebHost.ConfigureKestrel(options =>
{
    options.AddServerHeader = false;
    options.Limits.MaxRequestBodySize = 16;
});
var app = builder.Build();

app.MapGet("/", (HttpRequest request) => request.Protocol);
app.MapPost("/", async (HttpRequest request) =>
{
    using var reader = new StreamReader(request.Body);
    return await reader.ReadToEndAsync();
});
app.MapGet("/trailers", async (HttpResponse response) =>
{
    await response.WriteAsync("body");
    response.AppendTrailer("x-sum", "4");
});

app.Run();
