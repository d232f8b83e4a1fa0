// SPDX-License-Identifier: Apache-2.0

namespace Cohost.Worker;

/// <summary>How a connection came; as in boundary.h.</summary>
internal enum Channel
{
    Client = 0,
    Internal = 1,
}
