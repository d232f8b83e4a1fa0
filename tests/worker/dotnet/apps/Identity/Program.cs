// SPDX-License-Identifier: Apache-2.0
//
// ASP.NET Core Identity: registers, logs in by cookie, and knows who asks. Users live in memory.
using Identity;
using Microsoft.AspNetCore.Identity;
using Microsoft.Data.Sqlite;
using Microsoft.EntityFrameworkCore;
using System.Security.Claims;

var builder = WebApplication.CreateBuilder(args);
var connection = new SqliteConnection("Data Source=:memory:");
connection.Open();
builder.Services.AddDbContext<Users>(options => options.UseSqlite(connection));
builder.Services.AddIdentityApiEndpoints<IdentityUser>().AddEntityFrameworkStores<Users>();
builder.Services.AddAuthorization();
var app = builder.Build();

using (var scope = app.Services.CreateScope())
{
    scope.ServiceProvider.GetRequiredService<Users>().Database.EnsureCreated();
}

app.MapIdentityApi<IdentityUser>();
app.MapGet("/me", (ClaimsPrincipal user) => user.Identity!.Name).RequireAuthorization();

app.Run();
