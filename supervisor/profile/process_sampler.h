// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "supervisor/process/process_stats.h"
#include "supervisor/profile/process_maps.h"

namespace cohost::supervisor {

struct SampledProcess {
  std::string name;  // the caller's own, "worker/steady-1/0/3"
  pid_t pid = 0;
};

// How closely the memory of a process is looked at.
enum class SampleDepth {
  kTotals,    // smaps_rollup: cheap enough for every 30 s
  kMappings,  // and smaps: slows a worker with many mappings down, so only on command and daily
};

struct ProcessSample {
  std::string name;
  pid_t pid = 0;
  // Unset when the process has ended or may not be read.
  std::optional<MemoryStats> memory;
  std::optional<CpuStats> cpu;
  // With kMappings only; why there are none otherwise.
  absl::StatusOr<ProcessMaps> maps = absl::FailedPreconditionError("mappings were not asked for");
};

// Measures processes on a thread of its own, one after the other: reading the memory of a process
// holds its address space's lock, so never two at once. Thread-safe. The destructor waits for the
// process that is being read and drops the rest.
class ProcessSampler {
 public:
  // Runs on the sampler's thread; post to the loop there.
  using Done = std::function<void(std::vector<ProcessSample>)>;

  ProcessSampler();
  ~ProcessSampler();
  ProcessSampler(const ProcessSampler&) = delete;
  ProcessSampler& operator=(const ProcessSampler&) = delete;

  // False, and `done` is never called, when kMostWaiting measurements wait already.
  bool Measure(std::vector<SampledProcess> processes, SampleDepth depth, Done done);

 private:
  static constexpr size_t kMostWaiting = 8;
  struct Job {
    std::vector<SampledProcess> processes;
    SampleDepth depth = SampleDepth::kTotals;
    Done done;
  };

  void Run();

  Mutex mutex_;
  CondVar changed_;
  std::deque<Job> jobs_ ABSL_GUARDED_BY(mutex_);
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace cohost::supervisor
