// SPDX-License-Identifier: Apache-2.0
namespace Faulty;

// Does not stop, whatever its token says.
internal sealed class EndlessService : IHostedService
{
    public Task StartAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    public Task StopAsync(CancellationToken cancellationToken) => Faults.Never;
}
