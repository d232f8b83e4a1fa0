// SPDX-License-Identifier: Apache-2.0

using Microsoft.Extensions.Logging;

namespace Cohost.Worker;

/// <summary>
/// What the worker offers to the shim. Every method may be called from any thread, does not block
/// and does not throw.
/// </summary>
internal interface IWorker
{
    /// <summary>Sets the folder that the service's threads see as their current one.</summary>
    public void SetFolder(int row, string folder);

    /// <summary>Writes one event of a service, or of the shim itself
    /// (<see cref="Boundary.NoService"/>).</summary>
    public void Log(int row, LogLevel level, string category, string text);

    /// <summary>Tells the end of a start; <paramref name="failure"/> is null when it went
    /// well.</summary>
    public void Started(int row, string? failure);

    /// <summary>Tells that a start goes on.</summary>
    public void Progress(int row);

    public void ConnectionEnded(int row, Channel channel);

    public void Drained(int row, uint cancelled);

    public void Stopped(int row);

    public void Notify(int row, Notice notice, string text);
}
