// SPDX-License-Identifier: Apache-2.0
//
// One question, and how many chose which answer: Razor Pages with a form.
using Polls;

var builder = WebApplication.CreateBuilder(args);
builder.Services.AddRazorPages();
builder.Services.AddSingleton<Ballot>();
var app = builder.Build();

app.MapRazorPages();

app.Run();
