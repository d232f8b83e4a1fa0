// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace cohost::supervisor {

// The command line of cohostd. What decides anything about the deployment is only checked for its
// form here and handed on to the supervisor.
struct KeeperOptions {
  bool help = false;
  bool version = false;
  // -1: nobody waits for the ready line.
  int ready_fd = -1;
  // Empty: cohost-supervisor beside cohostd.
  std::string supervisor;
  absl::Duration drain_limit = absl::Seconds(60);
  // For the supervisor, as they were given, --drain-limit among them; without argv[0].
  std::vector<std::string> passed_on;
};

// Arguments without argv[0]. INVALID_ARGUMENT names the argument, for an unknown option the nearest
// one.
absl::StatusOr<KeeperOptions> ParseKeeperOptions(std::span<const char* const> arguments);

extern const char kKeeperHelp[];

}  // namespace cohost::supervisor
