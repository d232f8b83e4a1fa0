// SPDX-License-Identifier: Apache-2.0
#include "supervisor/placement/explain.h"

#include "absl/strings/str_cat.h"
#include "base/strings.h"
#include "base/units.h"

namespace cohost::supervisor {

std::string LimitText(const LoadLimits& limits, LoadLimit limit) {
  switch (limit) {
    case LoadLimit::kNone:
      return "no limit";
    case LoadLimit::kServices:
      return absl::StrCat("grouping.max_services_per_worker (", limits.services(), ")");
    case LoadLimit::kMemory:
      return absl::StrCat("grouping.worker_memory (", FormatBytes(limits.memory()), ")");
    case LoadLimit::kCpu:
      return absl::StrCat("grouping.worker_cpu (", limits.cpu(), ")");
  }
  return "";
}

std::string LoadText(const Load& load, const LoadLimits& limits) {
  return absl::StrCat(load.count(), " of ", limits.services(), " services, ",
                      FormatBytes(load.memory()), " of ", FormatBytes(limits.memory()),
                      " declared memory, ", load.peak_cpu(), " of ", limits.cpu(),
                      " cores in the busiest hour");
}

std::string WhyAlone(std::string_view because) {
  return absl::StrCat("needs a worker of its own", because.empty() ? "" : ": ", AsAbsl(because));
}

}  // namespace cohost::supervisor
