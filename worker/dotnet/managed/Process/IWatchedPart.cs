// SPDX-License-Identifier: Apache-2.0

namespace Cohost.Worker;

/// <summary>A part that can also be watched after the start: cheap to compare, and worth it.
/// </summary>
internal interface IWatchedPart : IProcessPart
{
    /// <summary>Whether somebody has changed it since it was put back. Called on any thread.
    /// </summary>
    public bool HasChanged { get; }

    /// <summary>Puts it back for nobody, where it cannot be told whose the change is.</summary>
    public void PutBack();
}
