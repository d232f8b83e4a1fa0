// SPDX-License-Identifier: Apache-2.0
namespace EfCore;

internal sealed class Article
{
    public int Id { get; set; }

    public required string Name { get; set; }

    public double Price { get; set; }
}
