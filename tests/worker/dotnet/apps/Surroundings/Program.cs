// SPDX-License-Identifier: Apache-2.0
//
// Tells what an application can see of where it runs. Paths are told relative to the application's folder, ports not at
// all: they differ from run to run.
using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.AspNetCore.Hosting.Server.Features;
using System.Globalization;
using System.Reflection;

AppContext.SetSwitch("Surroundings.Own", true);
var culture = Environment.GetEnvironmentVariable("SURROUNDINGS_CULTURE");
if (culture is not null)
{
    CultureInfo.DefaultThreadCurrentCulture = CultureInfo.GetCultureInfo(culture);
}

var startEntry = Assembly.GetEntryAssembly()?.GetName().Name;
var startFolder = Relative(Environment.CurrentDirectory);
var startArguments = string.Join(' ', Environment.GetCommandLineArgs().Skip(1));

var builder = WebApplication.CreateBuilder(args);
var app = builder.Build();

app.MapGet("/start", () => Lines(
    $"entry assembly: {startEntry}",
    $"folder: {startFolder}",
    $"arguments: {startArguments}",
    $"arguments of Main: {string.Join(' ', args)}"));
app.MapGet("/now", () => Lines(
    $"entry assembly: {Assembly.GetEntryAssembly()?.GetName().Name}",
    $"folder: {Relative(Environment.CurrentDirectory)}",
    $"base folder: {Relative(AppContext.BaseDirectory)}",
    $"switch: {(AppContext.TryGetSwitch("Surroundings.Own", out var on) ? on : null)}",
    $"culture: {CultureInfo.CurrentCulture.Name} {1234.5.ToString("N1", CultureInfo.CurrentCulture)}",
    $"target framework: {AppContext.TargetFrameworkName}"));
app.MapGet("/background", async () => await Task.Run(async () =>
{
    await Task.Yield();
    return Lines($"folder: {Relative(Environment.CurrentDirectory)}", $"culture: {CultureInfo.CurrentCulture.Name}");
}));
app.MapGet("/host", (IWebHostEnvironment environment) => Lines(
    $"application: {environment.ApplicationName}",
    $"environment: {environment.EnvironmentName}",
    $"content root: {Relative(environment.ContentRootPath)}"));
app.MapGet("/settings", (IConfiguration configuration) => Lines(
    $"from the file: {configuration["FromTheFile"]}",
    $"from the environment: {configuration["From:The:Environment"]}",
    $"list: {string.Join(' ', configuration.GetSection("List").Get<string[]>() ?? [])}",
    $"overridden: {configuration["Overridden"]}"));
app.MapGet("/addresses", (IServer server) => Lines(
    [.. server.Features.Get<IServerAddressesFeature>()!.Addresses.Select(address => new Uri(address).Scheme)]));
// With a length, where the framework cuts other texts into chunks.
app.MapGet("/length", () => Results.Text("hello"));
app.MapGet("/variables", () => Environment.GetEnvironmentVariable("SURROUNDINGS_VARIABLE"));

app.Run();

static string Lines(params string[] lines) => string.Join('\n', lines);

static string Relative(string path) => Path.GetRelativePath(Path.GetDirectoryName(typeof(Program).Assembly.Location)!, path);
