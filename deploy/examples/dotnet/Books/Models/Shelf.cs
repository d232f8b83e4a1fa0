// SPDX-License-Identifier: Apache-2.0
using System.Text.Json;

namespace Books.Models;

// The books of books.json that stand on the shelf of this service.
public sealed class Shelf
{
    private static readonly JsonSerializerOptions s_options = new(JsonSerializerDefaults.Web);

    public Shelf(IConfiguration configuration, IWebHostEnvironment environment)
    {
        Name = configuration["shelf"] ?? "novels";
        using var file = File.OpenRead(Path.Combine(environment.ContentRootPath, "books.json"));
        var all = JsonSerializer.Deserialize<List<Book>>(file, s_options) ?? [];
        Books = [.. all.Where(book => book.Shelf == Name).OrderBy(book => book.Year)];
    }

    public string Name { get; }

    public IReadOnlyList<Book> Books { get; }
}
