// SPDX-License-Identifier: Apache-2.0
namespace ClassicWebHost;

internal sealed class Startup(IConfiguration configuration)
{
    public void ConfigureServices(IServiceCollection services) => services.AddRouting();

    public void Configure(IApplicationBuilder app) => app.UseRouter(routes =>
    {
        routes.MapGet("greeting", (request, response, data) =>
            response.WriteAsync(configuration["Greeting"] ?? "none"));
        routes.MapGet("square/{number:int}", (request, response, data) =>
        {
            var number = int.Parse((string)data.Values["number"]!);
            return response.WriteAsync($"{number * number}");
        });
    });
}
