// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>

#include "base/clock.h"
#include "base/log.h"
#include "supervisor/host_event.h"
#include "supervisor/pool/pool_parts.h"
#include "supervisor/state/state.h"

namespace cohost::supervisor {

// What happens on the host, once: into the state, into the log, and to whoever follows. Loop thread
// only; state and log outlive it.
class EventLog {
 public:
  EventLog(State& state, Log& log, const Clock& clock) : state_(state), log_(log), clock_(clock) {}

  // Gives the event its id and time.
  uint64_t Record(HostEvent event);
  uint64_t Record(const PoolEvent& event);

  // `event` is called for every later event, until Unsubscribe of the number that is returned.
  uint64_t Subscribe(std::function<void(const HostEvent&)> event);
  void Unsubscribe(uint64_t subscription) { subscribers_.erase(subscription); }

 private:
  // Set in the constructor, never changed.
  State& state_;
  Log& log_;
  const Clock& clock_;
  // Loop thread only.
  std::map<uint64_t, std::function<void(const HostEvent&)>> subscribers_;
  uint64_t last_subscription_ = 0;
};

}  // namespace cohost::supervisor
