// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/system/unique_fd.h"

namespace cohost::supervisor {

// A listening socket that whoever started us opened.
struct ActivatedSocket {
  std::string name;  // of LISTEN_FDNAMES; may be empty
  UniqueFd socket;
};

// Takes the sockets of systemd's protocol (sd_listen_fds(3)): LISTEN_FDS descriptors from 3 on, if
// LISTEN_PID is this process. Another LISTEN_PID means "not for you" and gives none. The variables
// are removed from the environment in any case, so that no child takes them for its own.
// INVALID_ARGUMENT when one of the descriptors is not a listening stream socket. Call it before any
// descriptor is opened.
absl::StatusOr<std::vector<ActivatedSocket>> TakeActivatedSockets();

}  // namespace cohost::supervisor
