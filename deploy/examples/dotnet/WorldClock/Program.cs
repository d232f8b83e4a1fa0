// SPDX-License-Identifier: Apache-2.0
//
// The time of one place, kept up to date in the browser: Blazor on the server.
using WorldClock.Components;

var builder = WebApplication.CreateBuilder(args);
builder.Services.AddRazorComponents().AddInteractiveServerComponents();
builder.Services.AddSingleton(TimeZoneInfo.FindSystemTimeZoneById(builder.Configuration["zone"] ?? "Etc/UTC"));
builder.Services.AddSingleton(TimeProvider.System);
var app = builder.Build();

app.UseAntiforgery();
app.MapStaticAssets();
app.MapRazorComponents<App>().AddInteractiveServerRenderMode();

app.Run();
