// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

#include "absl/time/time.h"
#include "worker/services/service_entry.h"
#include "worker/worker_parts.h"

namespace cohost::worker {

// The steps that end a service. I/O thread only. Each calls `done` once, from the loop, within its
// limit.

// How long the service's own stop may take once its drain is over, and when it was never ready:
// then others wait to be loaded.
inline constexpr absl::Duration kStopLimit = absl::Seconds(5);
inline constexpr absl::Duration kUnreadyStopLimit = absl::Seconds(1);

// Takes its listeners out of the accept thread; connections that were accepted before are in the
// loop when `done` is called.
void StopAccepting(WorkerParts& parts, ServiceEntry& entry, std::function<void()> done);

// ConnectionServer::DrainService takes up to a second beyond its limit to cancel what is left.
inline constexpr absl::Duration kCancelLimit = absl::Milliseconds(1500);

// Lets the requests of connections and of other services end, within `limit`; then it cancels what
// is left, which takes kCancelLimit at most. Arguments as ConnectionServer::DrainService has them.
void DrainRequests(WorkerParts& parts, ServiceEntry& entry, absl::Duration limit,
                   CancelReason reason, ConnectionServer::HandOver hand_over,
                   ConnectionServer::DrainDone done);

// Takes nothing new and lets what is in flight end, within `limit` (and kCancelLimit); then the
// service's own drain, for what is left of `limit`, and its own stop. `whole` of the result: the
// service's code has returned everywhere, so its object can be destroyed.
struct RemovalResult {
  uint32_t cancelled = 0;
  bool whole = false;
};
void DrainAndStop(WorkerParts& parts, ServiceEntry& entry, absl::Duration limit,
                  absl::Duration stop_limit, std::function<void(RemovalResult)> done);

}  // namespace cohost::worker
