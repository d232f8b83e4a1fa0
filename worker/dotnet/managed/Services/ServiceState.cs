// SPDX-License-Identifier: Apache-2.0

namespace Cohost.Worker;

/// <summary>How far a service is. It only goes forward.</summary>
internal enum ServiceState
{
    Starting,
    Running,
    Stopping,
    Ended,
}
