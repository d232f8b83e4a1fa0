// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>

#include "absl/status/statusor.h"

namespace cohost::supervisor {

// Whether somebody in this network namespace listens on the unix socket whose file has this device
// and inode, as the kernel's list of sockets has it (sock_diag(7)): for the file of another user,
// which may not be connected to. `path` helps where a file system shows other devices to stat than
// it has. UNAVAILABLE where the kernel has no such list. Thread-safe.
absl::StatusOr<bool> IsListenedOn(dev_t device, ino_t inode, const std::string& path);

}  // namespace cohost::supervisor
