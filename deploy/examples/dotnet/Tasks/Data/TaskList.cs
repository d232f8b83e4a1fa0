// SPDX-License-Identifier: Apache-2.0
using Microsoft.EntityFrameworkCore;

namespace Tasks.Data;

public sealed class TaskList(DbContextOptions<TaskList> options) : DbContext(options)
{
    public DbSet<TaskItem> Items => Set<TaskItem>();
}
