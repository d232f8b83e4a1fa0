// SPDX-License-Identifier: Apache-2.0
//
// The tasks of one team: controllers on Entity Framework Core and a SQLite file beside the application.
using Microsoft.EntityFrameworkCore;
using Tasks.Data;

var builder = WebApplication.CreateBuilder(args);
builder.Services.AddControllers();
builder.Services.AddDbContext<TaskList>(options => options.UseSqlite("Data Source=tasks.db"));
var app = builder.Build();

using (var scope = app.Services.CreateScope())
{
    scope.ServiceProvider.GetRequiredService<TaskList>().Database.EnsureCreated();
}

app.MapControllers();

app.Run();
