// SPDX-License-Identifier: Apache-2.0

namespace Cohost.Worker;

/// <summary>What the shim tells about a service besides its answers; as in boundary.h.</summary>
internal enum Notice
{
    Warning = 0,
    UnhandledException = 1,
    Exit = 2,
    Ended = 3,
    OverdueRequest = 4,
}
