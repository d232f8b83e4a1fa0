// SPDX-License-Identifier: Apache-2.0
//
// Changes what belongs to the whole process, at its start and on request: its neighbours must not notice.
using System.Globalization;

Meddle("start");
var builder = WebApplication.CreateBuilder(args);
var app = builder.Build();

app.MapGet("/meddle", () =>
{
    Meddle("request");
    return Environment.GetEnvironmentVariable("SURROUNDINGS_VARIABLE");
});
app.MapGet("/", () => "still here");

app.Run();

static void Meddle(string when)
{
    Console.WriteLine($"standard output, {when}");
    Console.Error.WriteLine($"standard error, {when}");
    Console.SetOut(TextWriter.Null);
    Environment.SetEnvironmentVariable("SURROUNDINGS_VARIABLE", when);
    Environment.SetEnvironmentVariable("ASPNETCORE_ENVIRONMENT", "Meddled");
    CultureInfo.DefaultThreadCurrentCulture = CultureInfo.GetCultureInfo("tr-TR");
    AppContext.SetSwitch("Surroundings.Own", false);
    Environment.CurrentDirectory = Path.GetTempPath();
    ThreadPool.SetMaxThreads(Environment.ProcessorCount, Environment.ProcessorCount);
}
