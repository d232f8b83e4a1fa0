// SPDX-License-Identifier: Apache-2.0
//
// Hosted services of all three kinds: what they did before the first request is what the application answers.
using HostedServices;

var builder = WebApplication.CreateBuilder(args);
builder.Services.AddSingleton<Diary>();
builder.Services.AddHostedService<Worker>();
builder.Services.AddHostedService<LifecycleWitness>();
var app = builder.Build();

app.MapGet("/", async (Diary diary) =>
{
    await diary.Complete;
    return string.Join('\n', diary.Entries);
});

app.Lifetime.ApplicationStarted.Register(() => app.Services.GetRequiredService<Diary>().Add("started"));
app.Run();
