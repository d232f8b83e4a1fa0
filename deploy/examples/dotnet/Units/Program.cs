// SPDX-License-Identifier: Apache-2.0
//
// Converts between units of one quantity: a minimal API.
using System.Globalization;

var builder = WebApplication.CreateBuilder(args);
var quantity = builder.Configuration["quantity"] ?? "length";
// How much one of the unit is, in the first of the table.
var units = builder.Configuration.GetSection($"Quantities:{quantity}").Get<Dictionary<string, double>>()
    ?? throw new InvalidOperationException($"there is no quantity '{quantity}'");
var app = builder.Build();

app.MapGet("/", () => new { quantity, units = units.Keys.Order(), example = Example() });
app.MapGet("/{value:double}/{from}/{to}", (double value, string from, string to) =>
    units.TryGetValue(from, out var source) && units.TryGetValue(to, out var target)
        ? Results.Text((value * source / target).ToString("G15", CultureInfo.InvariantCulture))
        : Results.NotFound());

app.Run();

string Example() => $"/10/{units.Keys.First()}/{units.Keys.Last()}";
