// SPDX-License-Identifier: Apache-2.0
using Microsoft.AspNetCore.Mvc;
using Microsoft.EntityFrameworkCore;
using Tasks.Data;

namespace Tasks.Controllers;

[ApiController]
public sealed class TasksController(TaskList list, IConfiguration configuration) : ControllerBase
{
    [HttpGet("/")]
    public async Task<object> Summary() => new
    {
        team = configuration["team"],
        open = await list.Items.CountAsync(item => !item.Done),
        done = await list.Items.CountAsync(item => item.Done),
    };

    [HttpGet("/tasks")]
    public Task<List<TaskItem>> All() => list.Items.OrderBy(item => item.Id).ToListAsync();

    [HttpPost("/tasks")]
    public async Task<ActionResult<TaskItem>> Add(TaskItem item)
    {
        list.Add(item);
        await list.SaveChangesAsync();
        return Created($"/tasks/{item.Id}", item);
    }

    [HttpPut("/tasks/{id:int}/done")]
    public async Task<IActionResult> Finish(int id)
    {
        var changed = await list.Items.Where(item => item.Id == id)
            .ExecuteUpdateAsync(update => update.SetProperty(item => item.Done, true));
        return changed == 0 ? NotFound() : NoContent();
    }

    [HttpDelete("/tasks/{id:int}")]
    public async Task<IActionResult> Remove(int id) =>
        await list.Items.Where(item => item.Id == id).ExecuteDeleteAsync() == 0 ? NotFound() : NoContent();
}
