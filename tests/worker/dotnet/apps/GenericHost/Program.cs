// SPDX-License-Identifier: Apache-2.0
//
// The generic host with a Startup class, as applications of 2019 to 2021 were made.
namespace GenericHost;

internal static class Program
{
    public static void Main(string[] args) => CreateHostBuilder(args).Build().Run();

    public static IHostBuilder CreateHostBuilder(string[] args) =>
        Host.CreateDefaultBuilder(args).ConfigureWebHostDefaults(web => web.UseStartup<Startup>());
}
