// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "absl/status/statusor.h"
#include "base/system/unique_fd.h"

namespace cohost::worker {

// Brings the process into the state that everything else counts on. Called once, first of all, by
// the only thread: allocator options, close-on-exec on the inherited descriptors, SIGPIPE ignored,
// SIGTERM, SIGINT, SIGQUIT, SIGHUP and SIGUSR1 blocked and delivered by the signalfd that is
// returned.
//
// What a service starts: a child made by fork() gets SIGPIPE back at its default and those five
// unblocked. posix_spawn(), system() and popen() run no fork handlers: their children have the five
// blocked and SIGPIPE ignored, unless the caller gives POSIX_SPAWN_SETSIGMASK and _SETSIGDEF.
absl::StatusOr<UniqueFd> SetUpProcess();

// Ends the process with exit code 0, without destructors: static ones and gRPC's threads could keep
// it for ever.
[[noreturn]] void EndProcess();

// From now on the kernel ends the process (SIGALRM) after `seconds`, whatever its threads do.
void ArmLastResort(unsigned seconds);

}  // namespace cohost::worker
