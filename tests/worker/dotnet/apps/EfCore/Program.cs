// SPDX-License-Identifier: Apache-2.0
//
// Entity Framework Core on a SQLite file that is named relative to the current folder.
using EfCore;
using Microsoft.EntityFrameworkCore;

var builder = WebApplication.CreateBuilder(args);
builder.Services.AddDbContext<Shop>(options =>
    options.UseSqlite(builder.Configuration.GetConnectionString("Shop") ?? "Data Source=shop.db"));
var app = builder.Build();

using (var scope = app.Services.CreateScope())
{
    scope.ServiceProvider.GetRequiredService<Shop>().Database.EnsureCreated();
}

app.MapGet("/articles", async (Shop shop) =>
    await shop.Articles.OrderBy(article => article.Name).ToListAsync());
app.MapPost("/articles", async (Shop shop, Article article) =>
{
    shop.Add(article);
    await shop.SaveChangesAsync();
    return Results.Created($"/articles/{article.Id}", article);
});
app.MapGet("/articles/{id:int}", async (Shop shop, int id) =>
    await shop.Articles.FindAsync(id) is { } article ? Results.Ok(article) : Results.NotFound());
app.MapGet("/total", async (Shop shop) =>
    await shop.Articles.GroupBy(article => article.Price > 5)
        .Select(group => new { Expensive = group.Key, Total = group.Sum(article => article.Price) })
        .OrderBy(row => row.Expensive).ToListAsync());

app.MapGet("/copies", Copies.Describe);

app.Run();
