// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/time/time.h"
#include "base/clock.h"
#include "worker/accept/handover.h"
#include "worker/loop/countdown.h"
#include "worker/roster.h"
#include "worker/worker_parts.h"

namespace cohost::worker {

// Drains all services of a worker that leaves: stops accepting, lets what is in flight end, hands
// idle connections to the successor (without one they are closed gracefully), and lets the services
// finish their own work. Then, separately, stops them. I/O thread only. References outlive it.
class WorkerDrain {
 public:
  // Closes the roster. `successor` may be null.
  WorkerDrain(WorkerParts& parts, Roster& roster, HandoverSender* successor);

  // `done` is called once, at most four seconds after `limit`; what was not finished by then has
  // been cancelled.
  void Begin(absl::Duration limit, std::function<void()> done);
  // Stops the services whose code has returned everywhere, and calls `done` once, within
  // kStopLimit. The others are not touched again: the end of the process is their end.
  void StopServices(std::function<void()> done);

  uint32_t cancelled() const { return cancelled_; }

 private:
  void DrainConnections();
  void DrainServices();
  void FlushHandover();
  absl::Duration Left() const;

  // Set in the constructor, never changed.
  WorkerParts& parts_;
  Roster& roster_;
  // Ready when the drain began.
  const std::vector<ServiceEntry*> services_;
  HandoverSender* const successor_;

  SteadyTime end_;
  std::function<void()> done_;
  uint32_t cancelled_ = 0;
};

}  // namespace cohost::worker
