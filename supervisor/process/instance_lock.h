// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>

#include "absl/status/statusor.h"
#include "base/system/unique_fd.h"

namespace cohost::supervisor {

// The name under which the keeper holds the lock.
inline constexpr char kInstanceLockName[] = "lock";
inline constexpr char kStateLockName[] = "state_lock";

// Takes `runtime_dir`/cohost.lock for this instance: an flock(2) on a file that says the keeper's
// pid. The lock belongs to the open file, so it lasts as long as any duplicate: the supervisor
// gives one to the keeper (Hold(kInstanceLockName, ...)), and it then lives exactly as long as the
// keeper, kill -9 included. A supervisor that inherits an entry of that name already has it.
//
// ALREADY_EXISTS names the holder: "folder '/run/cohost' is in use by process 4711
// (cohostd shop.yaml)". The folder must exist.
absl::StatusOr<UniqueFd> AcquireInstanceLock(const std::string& runtime_dir, pid_t keeper_pid);

}  // namespace cohost::supervisor
