// SPDX-License-Identifier: Apache-2.0
//
// Razor Pages with an antiforgery token, temporary data and a session: cookies that only this application can read.
var builder = WebApplication.CreateBuilder(args);
builder.Services.AddRazorPages();
builder.Services.AddSession();
var app = builder.Build();

app.UseSession();
app.MapRazorPages();

app.Run();
