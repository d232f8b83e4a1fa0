// SPDX-License-Identifier: Apache-2.0
namespace GenericHost;

internal sealed class Startup(IConfiguration configuration, IWebHostEnvironment environment)
{
    public void ConfigureServices(IServiceCollection services)
    {
        services.AddControllers();
        services.AddSingleton<Counter>();
    }

    public void Configure(IApplicationBuilder app, Counter counter)
    {
        app.Use(async (context, next) =>
        {
            context.Response.Headers["X-Count"] = counter.Next().ToString();
            await next();
        });
        app.UseRouting();
        app.UseEndpoints(endpoints =>
        {
            endpoints.MapControllers();
            endpoints.MapGet("/greeting", () => configuration["Greeting"] ?? "none");
            endpoints.MapGet("/name", () => environment.ApplicationName);
        });
    }
}
