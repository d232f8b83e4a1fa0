// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "base/clock.h"
#include "proto/worker.pb.h"
#include "worker/accept/listener_book.h"
#include "worker/loop/loop_timer.h"
#include "worker/prober.h"
#include "worker/services/service_entry.h"
#include "worker/worker_parts.h"

namespace cohost::worker {

// What the service's own start came to. Only one that has succeeded wants a stop; one that runs may
// not be destroyed.
enum class StartOutcome { kNone, kRunning, kFailed, kSucceeded };

// Brings one service from loaded to accepting: start, warm-up requests, probe, listeners; then its
// state is kReady. Where one of these fails it is still kLoading, and what to do with what was
// started is up to the caller. A start may take as long as the service reports progress at least
// every start_timeout, and kLongestStart at most; every other step has start_timeout. I/O thread
// only.
class ServiceLoad {
 public:
  // `entry` hosts its service already and stays until the end. References outlive the load. `done`
  // is called once, from the loop, and may destroy the load.
  ServiceLoad(WorkerParts& parts, Prober& prober, const ListenerBook& listeners,
              ServiceEntry& entry, v1::AssignRequest request,
              std::function<void(absl::Status)> done);

  void Begin();
  // Fails the load at once, unless it has ended.
  void Abort(const absl::Status& why) { End(why); }

  uint32_t warmup_requests() const { return warmup_requests_; }
  StartOutcome start() const { return start_; }

 private:
  void WatchProgress();
  void OnStarted(const absl::Status& status);
  void WarmUp();
  void OnWarmUpAnswer(const std::string& target, const absl::StatusOr<int>& code);
  void Probe();
  absl::Status Accept();
  void End(const absl::Status& status);
  // Runs `function` unless this object has gone or ended meanwhile.
  template <typename Argument>
  std::function<void(Argument)> IfAlive(std::function<void(Argument)> function);

  // Set in the constructor, never changed.
  WorkerParts& parts_;
  Prober& prober_;
  const ListenerBook& listeners_;
  ServiceEntry& entry_;
  const v1::AssignRequest request_;
  const absl::Duration step_limit_;
  const SteadyTime begin_;

  LoopTimer timer_;
  uint32_t warmup_requests_ = 0;
  StartOutcome start_ = StartOutcome::kNone;
  std::function<void(absl::Status)> done_;  // null: has ended
  // Expires with this object: what the service calls later finds it gone.
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace cohost::worker
