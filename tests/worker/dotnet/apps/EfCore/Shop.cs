// SPDX-License-Identifier: Apache-2.0
using Microsoft.EntityFrameworkCore;

namespace EfCore;

internal sealed class Shop(DbContextOptions<Shop> options) : DbContext(options)
{
    public DbSet<Article> Articles => Set<Article>();
}
