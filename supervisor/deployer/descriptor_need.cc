// SPDX-License-Identifier: Apache-2.0
#include "supervisor/deployer/descriptor_need.h"

#include <sys/resource.h>

#include "absl/strings/str_cat.h"

namespace cohost::supervisor {
namespace {

// Loops, state and endpoints take about 30; the rest is for 64 admin connections and what is open
// for a moment only.
constexpr uint64_t kReserve = 128;
// The supervisor has a link, a channel and a segment of each generation, the keeper a pidfd, a link
// and a segment.
constexpr uint64_t kEachGeneration = 3;
// One that serves and one that is to replace it.
constexpr uint64_t kGenerations = 2;
// The log of a slot.
constexpr uint64_t kEachWorker = 1;

}  // namespace

uint64_t DescriptorsNeeded(size_t listeners, size_t workers) {
  return kReserve + listeners + workers * (kEachWorker + kGenerations * kEachGeneration);
}

uint64_t DescriptorLimit() {
  rlimit limit{};
  // It cannot fail with these arguments.
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 0;
}

absl::Status CheckDescriptorLimit(size_t listeners, size_t workers, uint64_t limit) {
  const uint64_t needed = DescriptorsNeeded(listeners, workers);
  if (needed <= limit) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "this deployment needs up to ", needed, " descriptors (", listeners, " listeners, ", workers,
      " workers) and the limit is ", limit, ": raise it (ulimit -n, or LimitNOFILE= of the unit)"));
}

}  // namespace cohost::supervisor
