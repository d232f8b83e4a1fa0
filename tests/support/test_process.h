// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/system/unique_fd.h"
#include "tests/support/wait.h"

namespace cohost::testing {

// A program that a test starts and owns. Its end is certain: the destructor kills it through its
// pidfd, and every child of the test process that no TestProcess owns (the test becomes child
// subreaper, so that is what the program left behind), and reaps all of it.
class TestProcess {
 public:
  struct Options {
    std::vector<std::string> command{};  // absolute path first
    // Added to, or instead of, the test's own environment.
    std::vector<std::string> environment{};
    bool clean_environment = false;
    // Number in the child and descriptor here (borrowed for the call). 0 is /dev/null where not
    // named, 1 and 2 are the test's; nothing else is inherited.
    std::vector<std::pair<int, int>> descriptors{};
  };
  static absl::StatusOr<std::unique_ptr<TestProcess>> Start(const Options& options);

  ~TestProcess();
  TestProcess(const TestProcess&) = delete;
  TestProcess& operator=(const TestProcess&) = delete;

  pid_t pid() const { return pid_; }
  int pidfd() const { return pidfd_.get(); }
  bool Signal(int signal) const;

  struct Ended {
    std::optional<int> exit_code;
    std::optional<int> signal;
  };
  // None when it still runs after `limit`.
  std::optional<Ended> WaitUntilEnded(absl::Duration limit = kPatience);

 private:
  TestProcess(pid_t pid, UniqueFd pidfd) : pid_(pid), pidfd_(std::move(pidfd)) {}

  const pid_t pid_;
  const UniqueFd pidfd_;
  std::optional<Ended> ended_;
};

// The absolute path of a program of this repository that the test has as data:
// "supervisor/keeper/cohostd".
std::string ProgramPath(const std::string& target_path);

}  // namespace cohost::testing
