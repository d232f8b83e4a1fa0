// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "absl/status/status.h"

namespace cohost::supervisor {

// Started as root, the supervisor needs little of it: CAP_NET_BIND_SERVICE (ports below 1024),
// CAP_DAC_READ_SEARCH (modules of any user), CAP_CHOWN and CAP_FOWNER (sockets and data folders for
// the workers' users), CAP_KILL and CAP_SYS_PTRACE (memory figures of other users' processes).
// Gives up all others for good, and sets no_new_privs. Before the first thread; nothing without
// root.
absl::Status KeepNeededCapabilities();

}  // namespace cohost::supervisor
