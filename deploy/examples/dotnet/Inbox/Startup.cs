// SPDX-License-Identifier: Apache-2.0
using System.Text.Json;

namespace Inbox;

internal sealed class Startup(IConfiguration configuration)
{
    public void ConfigureServices(IServiceCollection services)
    {
        services.AddSingleton<Queue>();
        services.AddHostedService<Writer>();
    }

    public void Configure(IApplicationBuilder app)
    {
        app.UseRouting();
        app.UseEndpoints(endpoints =>
        {
            endpoints.MapGet("/", (Queue queue) => new
            {
                inbox = configuration["inbox"],
                waiting = queue.Waiting,
                written = queue.Written,
            });
            endpoints.MapPost("/", async (Queue queue, JsonElement message) =>
            {
                await queue.AddAsync(message);
                return Results.Accepted();
            });
        });
    }
}
