// SPDX-License-Identifier: Apache-2.0

namespace Cohost.Worker;

/// <summary>
/// One part of the state of the process that every application takes for its own. It is made once,
/// before the first application; then windows open and close around starts, one at a time.
/// </summary>
internal interface IProcessPart
{
    /// <summary>Makes it the service's. Main has not begun.</summary>
    public void Open(Service service);

    /// <summary>Keeps what the application changed for the application, puts back the rest, and
    /// warns of what cannot be kept.</summary>
    public void Close(Service service);
}
