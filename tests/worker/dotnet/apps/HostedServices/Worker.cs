// SPDX-License-Identifier: Apache-2.0
namespace HostedServices;

// Counts to three on a timer of its own, then waits for its end.
internal sealed class Worker(Diary diary) : BackgroundService
{
    protected override async Task ExecuteAsync(CancellationToken stoppingToken)
    {
        using var timer = new PeriodicTimer(TimeSpan.FromMilliseconds(10));
        for (var i = 1; i <= 3 && await timer.WaitForNextTickAsync(stoppingToken); i++)
        {
            diary.Add($"tick {i}");
        }
    }
}
