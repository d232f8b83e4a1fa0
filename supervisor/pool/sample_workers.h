// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "supervisor/pool/pool_parts.h"
#include "supervisor/pool/pool_target.h"
#include "supervisor/pool/slot.h"
#include "supervisor/pool/worker_group.h"

namespace cohost::supervisor {

// No group of a deployment can have this name.
inline constexpr char kSampleGroup[] = "~sample";

// At most `most` services of the target, spread over all of them by name, each as a group of one
// worker for SampleWorkers: with its group's identity and limits, under a number that no service
// has, without listeners. Services with `overlap: false` are left out, since they may not run
// twice.
std::vector<GroupTarget> SampleTargets(const PoolTarget& target, size_t most);

// Workers that serve nobody, one at a time, to see what a service takes in a worker of its own. The
// service runs once more beside itself, as it does while a worker is replaced, and never gets a
// connection. Outside of the pool: no group, total, metric or listener knows of it. A supervisor
// that dies leaves it to the next one's pool, which ends it, since it wants no such group.
// Loop thread only; end it with End before the keeper's client goes.
class SampleWorkers final : public GroupHost {
 public:
  // Beyond the group's start timeout.
  static constexpr absl::Duration kStartMargin = absl::Seconds(10);

  // `last_generation`: those after it are not used by any worker that may still live.
  SampleWorkers(const PoolParts& parts, uint32_t last_generation);
  ~SampleWorkers() override;
  SampleWorkers(const SampleWorkers&) = delete;
  SampleWorkers& operator=(const SampleWorkers&) = delete;

  // Starts a worker with the one service of `target` (of SampleTargets). `started` gets its process
  // once the service is ready and warmed up, or why it is not: what the worker says,
  // DEADLINE_EXCEEDED, CANCELLED by End. The worker lives until End. FAILED_PRECONDITION while
  // another one is there.
  void Start(const GroupTarget& target, std::function<void(absl::StatusOr<pid_t>)> started);
  // `ended` is called when nothing is left of the worker, or it cannot be stopped; at once without
  // one.
  void End(std::function<void()> ended);
  // False when it is not about this worker.
  bool HandleExit(const ExitRecord& record);

  // GroupHost
  bool MayRemove(const std::string&, uint64_t) const override { return true; }
  bool MayAssign(const std::string&, const ServiceTarget&) const override { return true; }
  bool IsOverloaded() const override { return false; }
  void RearmSiblings(const Generation&) override {}
  void FoldAndRelease(const GenerationId& id, SegmentReader* segment) override;
  void CountRestart(const GenerationId&, RecycleReason) override {}
  uint32_t LastGeneration(const std::string&, uint32_t) const override { return last_generation_; }
  void Changed() override;

 private:
  void Converge();
  // Whether the service is ready or never will be.
  void CheckStarted();
  void Answer(absl::StatusOr<pid_t> outcome);
  bool IsGone() const;
  void RemoveLog();

  // Set in the constructor, never changed.
  const PoolParts parts_;
  // Loop thread only.
  uint32_t last_generation_;
  std::unique_ptr<WorkerGroup> group_;
  std::shared_ptr<const ServiceTarget> service_;
  std::string log_;
  std::function<void(absl::StatusOr<pid_t>)> started_;
  std::vector<std::function<void()>> ended_;
  bool ending_ = false;
  Timer converge_timer_;
  Timer start_timer_;
};

}  // namespace cohost::supervisor
