// SPDX-License-Identifier: Apache-2.0

namespace Cohost.Worker;

/// <summary>Why a request was answered by the host; as in base/format/segment.h.</summary>
internal enum LimitHit
{
    QueueFull = 0,
    RequestTimeout = 1,
}
