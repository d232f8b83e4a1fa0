// SPDX-License-Identifier: Apache-2.0

using System.Threading;
using System.Threading.Tasks;
using Microsoft.Extensions.Hosting;

namespace Cohost.Worker;

/// <summary>Instead of the console's: signals are the worker's, which stops a service by
/// itself.</summary>
internal sealed class ServiceLifetime : IHostLifetime
{
    public Task WaitForStartAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    public Task StopAsync(CancellationToken cancellationToken) => Task.CompletedTask;
}
