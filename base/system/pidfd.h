// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/system/unique_fd.h"

namespace cohost {

// The system calls themselves: glibc 2.36 declares its wrappers without C linkage, so C++ cannot
// link them.

// A handle of the process, with CLOEXEC; invalid with errno set. It is surely the process meant
// only when the number cannot have been given away in between, as for the caller's own unreaped
// child.
inline UniqueFd OpenPidfd(pid_t pid) {
  return UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
}

// 0, or -1 with errno set: ESRCH once the process was reaped. Signal 0 only asks.
inline int SignalPidfd(int pidfd, int signal) {
  return static_cast<int>(syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0));
}

}  // namespace cohost
