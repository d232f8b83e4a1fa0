// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "supervisor/metrics/family.h"
#include "supervisor/snapshot.h"

namespace cohost::supervisor {

// CPU time of each slot over all its generations, so that the counter never falls when a worker is
// replaced; what a generation used after the last page that saw it is lost. Not thread-safe.
class SlotCpu {
 public:
  using Slot = std::pair<std::string, uint32_t>;

  // Takes over what the workers have used; forgets slots that no group has any more.
  void Update(const HostSnapshot& snapshot);
  absl::Duration Of(const Slot& slot) const;

 private:
  struct Used {
    // Of generations that are gone.
    absl::Duration folded;
    std::map<uint32_t, absl::Duration> by_generation;
  };
  std::map<Slot, Used> slots_;
};

// The metrics of workers and groups. One series a slot, also while two generations overlap: memory
// is their sum, the state that of the one that serves.
void AddWorkerFamilies(const HostSnapshot& snapshot, const SlotCpu& cpu, Families& families);
void AddGroupFamilies(const HostSnapshot& snapshot, Families& families);

}  // namespace cohost::supervisor
