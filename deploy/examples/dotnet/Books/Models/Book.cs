// SPDX-License-Identifier: Apache-2.0
namespace Books.Models;

public sealed record Book(int Id, string Shelf, string Title, string Author, int Year);
