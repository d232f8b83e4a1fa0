// SPDX-License-Identifier: Apache-2.0
//
// One shelf of a library: MVC with views.
using Books.Models;

var builder = WebApplication.CreateBuilder(args);
builder.Services.AddControllersWithViews();
builder.Services.AddSingleton<Shelf>();
var app = builder.Build();

app.UseStaticFiles();
app.MapControllerRoute("default", "{controller=Books}/{action=Index}/{id?}");

app.Run();
