// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "boost/asio/io_context.hpp"
#include "supervisor/admin/host_control.h"
#include "supervisor/loop/timers.h"
#include "supervisor/modules/stored_file.h"
#include "supervisor/profile/module_memory.h"
#include "supervisor/profile/process_sampler.h"
#include "supervisor/snapshot.h"
#include "supervisor/snapshot_builder.h"

namespace cohost::supervisor {

// What a meter works with; all outlive it. The functions are called on the loop thread.
struct MemoryMeterParts {
  boost::asio::io_context& loop;
  Timers& timers;
  const Clock& clock;
  // Keeper, supervisor and workers, with the services of each; nothing else of a snapshot.
  std::function<HostSnapshot()> processes;
  // Files of the store and who uses them.
  std::function<const std::vector<ListedFile>&()> files;
  // There are new figures.
  std::function<void()> changed;
  uint64_t seed = 1;  // of jitter
};

// Measures the memory of all Cohost processes: totals every 30 s, all mappings once a day (which
// gives the figures of modules) and both on command. Always one process at a time. Loop thread
// only; ending it waits for the process that is being read.
class MemoryMeter {
 public:
  // Memory of a process is read by walking its mappings under a lock, so not more often than this.
  static constexpr absl::Duration kTotalsInterval = absl::Seconds(30);
  // Between two measurements of all mappings that nobody asked for, with up to an hour of jitter.
  // The first one is earlier, after a part of it: a host that was just started shows modules too.
  static constexpr absl::Duration kMappingsInterval = absl::Hours(24);
  static constexpr absl::Duration kMappingsJitter = absl::Hours(1);
  static constexpr absl::Duration kFirstMappings = absl::Minutes(10);

  explicit MemoryMeter(MemoryMeterParts parts);
  MemoryMeter(const MemoryMeter&) = delete;
  MemoryMeter& operator=(const MemoryMeter&) = delete;

  // From now on by itself; totals for the first time after `delay`.
  void Begin(absl::Duration delay);

  // Now. Who asks for modules while they are being measured for another gets the same figures, and
  // who finds the sampler busy with totals gets those of the last time: they are as good. An error
  // only with kModules.
  void Measure(MemoryDepth depth, std::function<void(const absl::Status&)> done);

  // All mappings of one more process, which no report has. RESOURCE_EXHAUSTED when too many
  // measurements wait.
  void MeasureOne(SampledProcess process,
                  std::function<void(const absl::StatusOr<ProcessMaps>&)> done);

  // Of modules, the newest; null before the first.
  const std::shared_ptr<const MemoryReport>& report() const { return report_; }

  // Fills in the newest figures of processes and modules.
  void Fill(HostSnapshot& snapshot) const;

 private:
  void MeasureTotals(std::function<void()> done);
  void MeasureMappings();
  void FinishMappings(std::vector<ProcessSample> samples, absl::StatusOr<MemoryReport> report);
  void ScheduleTotals(absl::Duration delay);
  void ScheduleMappings(absl::Duration delay);

  // Set in the constructor, never changed.
  const MemoryMeterParts parts_;
  // Loop thread only.
  ProcessFigures figures_;
  std::shared_ptr<const MemoryReport> report_;
  // Who waits for the mappings that are being measured.
  std::vector<std::function<void(const absl::Status&)>> waiting_;
  bool measuring_ = false;
  std::mt19937_64 random_;
  Timer totals_timer_;
  Timer mappings_timer_;
  // Last: it ends first, and with it whoever would post here.
  ProcessSampler sampler_;
};

}  // namespace cohost::supervisor
