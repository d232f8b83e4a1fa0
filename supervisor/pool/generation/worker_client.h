// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/system/unique_fd.h"
#include "supervisor/pool/pool_target.h"
#include "supervisor/snapshot.h"

namespace cohost::supervisor {

struct AssignOutcome {
  uint64_t service_id = 0;
  uint64_t revision = 0;
  bool ready = false;
  std::string reason;  // when not ready
  uint32_t row = 0;    // in the segment; as the worker says it, not checked yet
  absl::Duration load_time;
};

struct ProbeOutcome {
  uint64_t service_id = 0;
  bool healthy = false;
  std::string reason;
};

// What the statistics stream says of one service; everything else is in the segment.
struct ServiceGauges {
  uint64_t service_id = 0;
  uint32_t connections = 0;
  uint32_t timers = 0;
  std::vector<ModuleMetricView> metrics;  // at most kMaxModuleMetrics
  uint64_t metrics_dropped = 0;
};
inline constexpr size_t kMaxModuleMetrics = 16;

struct WorkerGauges {
  std::vector<ServiceGauges> services;
  uint32_t pool_threads = 0;
  uint32_t pool_busy = 0;
  std::optional<absl::Duration> pool_queue_age;
};

// Calls to one worker over one channel. Loop thread only: results arrive on the loop thread, never
// inside the call, and none after the client's end. Every call has a deadline. A channel that has
// failed (UNAVAILABLE) stays so: its owner makes a new one. What a worker answers is checked for
// form, not for truth.
class WorkerClient {
 public:
  virtual ~WorkerClient() = default;

  // One at a time: the next only after `done`. `deadline` is for this service alone.
  virtual void Assign(const ServiceTarget& service, absl::Duration start_timeout,
                      absl::Duration deadline,
                      std::function<void(absl::StatusOr<AssignOutcome>)> done) = 0;
  // NOT_FOUND when it is not there.
  virtual void Remove(uint64_t service_id, absl::Duration drain_timeout,
                      std::function<void(absl::Status)> done) = 0;
  // All services at once.
  virtual void Probe(absl::Duration timeout,
                     std::function<void(absl::StatusOr<std::vector<ProbeOutcome>>)> done) = 0;
  // A batch an interval until the client's end; `ended` once when the stream ends before.
  virtual void WatchStatistics(absl::Duration interval,
                               std::function<void(const WorkerGauges&)> batch,
                               std::function<void(absl::Status)> ended) = 0;
};

// Makes clients. Loop thread only.
class WorkerClientFactory {
 public:
  virtual ~WorkerClientFactory() = default;
  // `socket` is one end of a stream socketpair, not blocking.
  virtual std::unique_ptr<WorkerClient> Connect(UniqueFd socket) = 0;
};

}  // namespace cohost::supervisor
