// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/units.h"
#include "supervisor/process/process_launcher.h"

namespace cohost::supervisor {

// A program that runs to its end.
struct RunRequest {
  std::string purpose{};                   // for its name: letters, digits and "-"
  std::string program{};                   // absolute path
  std::vector<std::string> arguments{};    // without the program's name
  std::vector<std::string> environment{};  // the whole environment, "KEY=value"
  ProcessIdentity identity{};
  Bytes memory{};  // at most; 0: no limit
  // Behind everything that serves: nice 19, batch scheduling, idle disk class.
  bool low_priority = true;
  absl::Duration limit = absl::Minutes(1);
  Bytes most_output = KiB(64);
};

struct RunResult {
  // One of the two, none when the status was lost.
  std::optional<int> exit_code{};
  std::optional<int> signal{};
  bool out_of_memory = false;
  // Standard output and error, as they came.
  std::string output{};
  bool output_cut = false;
};

// Runs one program and waits for it: for threads that may wait, never the loop thread. Thread-safe.
class ProcessRunner {
 public:
  virtual ~ProcessRunner() = default;
  // OK however the program ended. DEADLINE_EXCEEDED when it did not within the limit, CANCELLED
  // when the supervisor ends; nothing of it is left then. Other errors: it could not be started.
  virtual absl::StatusOr<RunResult> Run(const RunRequest& request) = 0;
};

}  // namespace cohost::supervisor
