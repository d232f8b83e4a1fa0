// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace cohost::worker::native {

// What the headers of a shared object say before it is loaded.
struct ModuleFile {
  // Bytes of thread-local storage, and whether the code addresses them in the way (initial-exec)
  // that needs a place in the small area which all modules of the process share.
  uint64_t tls_bytes = 0;
  bool needs_static_tls = false;
};

// Reads and checks the headers of `path`, a last look after the module store's: dlopen trusts them,
// and a file that is shorter than its program headers say kills the process with SIGBUS.
// FAILED_PRECONDITION, naming the file and what is wrong with it: not a regular file, not a shared
// object for this machine, cut off.
absl::StatusOr<ModuleFile> InspectModuleFile(const std::string& path);

}  // namespace cohost::worker::native
