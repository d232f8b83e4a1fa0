// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace cohost::supervisor {

// The file that a unix socket is bound to.
struct SocketFile {
  dev_t device = 0;
  ino_t inode = 0;
  friend bool operator==(const SocketFile&, const SocketFile&) = default;
};

// What stands at the path of a socket that is to be opened.
enum class PathState {
  kFree,
  kStale,  // a socket file that nobody listens on
};

// FAILED_PRECONDITION for anything but a socket (ordinary file, folder, link, even a dangling one)
// and for a missing folder; ALREADY_EXISTS, naming the process, for a socket that somebody listens
// on. Touches nothing; somebody who listens sees one connection that closes at once.
absl::StatusOr<PathState> InspectSocketPath(const std::string& path);

absl::StatusOr<SocketFile> StatSocketFile(const std::string& path);

// Removes the file of a unix socket when it is still this one.
absl::Status RemoveSocketFile(const std::string& path, const SocketFile& file);

}  // namespace cohost::supervisor
