// SPDX-License-Identifier: Apache-2.0
//
// Takes messages at once and writes them to a file in batches: the generic host with a Startup class, a hosted service
// and Serilog.
using Inbox;
using Serilog;

Host.CreateDefaultBuilder(args)
    .UseSerilog((context, logger) => logger
        .ReadFrom.Configuration(context.Configuration)
        .WriteTo.Console())
    .ConfigureWebHostDefaults(web => web.UseStartup<Startup>())
    .Build()
    .Run();
