// SPDX-License-Identifier: Apache-2.0
namespace Faulty;

internal sealed class FailingService : BackgroundService
{
    protected override async Task ExecuteAsync(CancellationToken stoppingToken)
    {
        await Task.Yield();
        throw new InvalidOperationException("in a hosted service");
    }
}
