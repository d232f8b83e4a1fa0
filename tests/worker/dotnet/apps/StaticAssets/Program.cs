// SPDX-License-Identifier: Apache-2.0
//
// Static web assets: fingerprinted and compressed at build time, with ranges, revalidation and a default document.
var builder = WebApplication.CreateBuilder(args);
var app = builder.Build();

app.UseDefaultFiles();
app.UseStaticFiles();
app.MapStaticAssets();
app.MapGet("/root", (IWebHostEnvironment environment) =>
    Path.GetRelativePath(environment.ContentRootPath, environment.WebRootPath));

app.Run();
