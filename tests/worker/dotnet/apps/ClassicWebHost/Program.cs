// SPDX-License-Identifier: Apache-2.0
//
// WebHost.CreateDefaultBuilder, as applications of 2017 to 2019 were made: it raises no hosting events.
using Microsoft.AspNetCore;

namespace ClassicWebHost;

internal static class Program
{
    public static void Main(string[] args) =>
        WebHost.CreateDefaultBuilder(args).UseStartup<Startup>().Build().Run();
}
