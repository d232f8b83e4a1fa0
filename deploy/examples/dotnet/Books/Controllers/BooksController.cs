// SPDX-License-Identifier: Apache-2.0
using Books.Models;
using Microsoft.AspNetCore.Mvc;

namespace Books.Controllers;

public sealed class BooksController(Shelf shelf) : Controller
{
    public IActionResult Index(string? search)
    {
        ViewData["Title"] = shelf.Name;
        ViewData["Search"] = search;
        return View(shelf.Books.Where(book =>
            search is null || book.Title.Contains(search, StringComparison.OrdinalIgnoreCase)));
    }

    public IActionResult Details(int id) =>
        shelf.Books.FirstOrDefault(book => book.Id == id) is { } book ? View(book) : NotFound();
}
