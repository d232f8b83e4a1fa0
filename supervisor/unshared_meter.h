// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "supervisor/memory_meter.h"
#include "supervisor/pool/pool_target.h"
#include "supervisor/pool/sample_workers.h"
#include "supervisor/profile/unshared_memory.h"

namespace cohost::supervisor {

// Measures what the services of the host would take unshared, on a sample: reads all mappings of
// the present workers, then starts one service after the other in a worker of its own
// (SampleWorkers), reads its mappings, ends it. One measurement at a time. Bounded in time by the
// start timeouts of the sampled services and the stop timeout of their workers. Loop thread only;
// both parts outlive it.
class UnsharedMeter {
 public:
  static constexpr uint32_t kMostSamples = 16;

  UnsharedMeter(MemoryMeter& meter, SampleWorkers& workers) : meter_(meter), workers_(workers) {}
  UnsharedMeter(const UnsharedMeter&) = delete;
  UnsharedMeter& operator=(const UnsharedMeter&) = delete;

  using Done = std::function<void(absl::StatusOr<UnsharedMemory>)>;
  // `target` is what the pool has; `samples` from 1 to kMostSamples. FAILED_PRECONDITION while a
  // measurement is under way, and when no service may be sampled; ABORTED when none could be
  // started, with the reason of the first; CANCELLED by Stop; errors of the meter.
  void Measure(const PoolTarget& target, uint32_t samples, Done done);
  // Ends a measurement and its worker and measures no more; `stopped` when nothing is left.
  void Stop(std::function<void()> stopped);

 private:
  void Next();
  void Take(const std::string& service, absl::StatusOr<pid_t> process);
  void Add(UnsharedSample sample);
  void Finish(const absl::Status& status);

  // Set in the constructor, never changed.
  MemoryMeter& meter_;
  SampleWorkers& workers_;
  // Loop thread only.
  Done done_;  // empty: nothing is under way
  std::vector<GroupTarget> targets_;
  size_t next_ = 0;
  UnsharedMemory memory_;
  FilePages files_;
  bool stopping_ = false;
};

}  // namespace cohost::supervisor
