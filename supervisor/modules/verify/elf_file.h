// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace cohost::supervisor {

// Checks that the open file is a whole ELF shared object for this machine that defines the function
// `entry_point`, so that dlopen cannot die of it: everything that the dynamic loader maps must lie
// inside the file (it maps first, and a short file is a SIGBUS without an error). Read with
// pread(2); no number of the file is trusted. INVALID_ARGUMENT naming what is wrong; otherwise
// warnings, one line each.
absl::StatusOr<std::vector<std::string>> CheckSharedObject(int fd, const std::string& entry_point);

}  // namespace cohost::supervisor
