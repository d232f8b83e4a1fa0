// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "supervisor/modules/verify/needed_libraries.h"
#include "supervisor/modules/verify/relocation_cost.h"

namespace cohost::supervisor {

// Modules export cohost_module_vN; this host calls that of its own version.
inline constexpr char kModuleEntryPrefix[] = "cohost_module_v";
inline constexpr uint32_t kModuleVersion = 1;

struct ElfReport {
  // What may hurt later though it is allowed, with its remedy, one line each.
  std::vector<std::string> warnings;
  RelocationCost relocation_cost;
};

// Checks that the open file is a whole module for this machine and host, so that dlopen in a worker
// full of other services cannot die of it or fail: everything that the dynamic loader maps must lie
// inside the file (it maps first, and a short file is a SIGBUS without an error), the entry point
// of our version be a function in its code, the libraries that it needs be there, and nothing
// change code or make stacks executable. Read with pread(2); no number of the file is trusted.
// INVALID_ARGUMENT saying what is wrong and what to do.
absl::StatusOr<ElfReport> CheckSharedObject(int fd, const LibrarySearch& search = {});

}  // namespace cohost::supervisor
