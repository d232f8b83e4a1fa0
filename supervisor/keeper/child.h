// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/system/unique_fd.h"

namespace cohost::supervisor {

// Everything about a child that is decided before fork.
struct ChildPlan {
  std::string program;
  std::vector<std::string> arguments;
  std::vector<std::string> environment;
  // Number in the child and descriptor here. All others are closed; 0, 1 and 2 become /dev/null
  // where not named.
  std::vector<std::pair<int, int>> descriptors;
  std::optional<uid_t> uid;
  std::optional<gid_t> gid;
  std::vector<gid_t> groups;
  uint64_t open_files_soft = 0;
  uint64_t open_files_hard = 0;
  uint64_t core_size = 0;
  int oom_score_adjust = 0;
  // Bits of the capabilities that a child of uid 0 may have after exec.
  uint64_t capabilities = 0;
  // cgroup.procs of the groups to join, open for writing.
  std::vector<int> cgroup_procs;
};

struct StartedChild {
  pid_t pid = 0;
  UniqueFd pidfd;
  // Readable once the child has executed its program (end of file) or could not (StartError).
  UniqueFd start_pipe;
};

// Forks a child that makes itself what the plan says and executes its program, in a session of its
// own, with no signal blocked or ignored and with no_new_privs. Does not wait for the exec.
absl::StatusOr<StartedChild> StartChild(const ChildPlan& plan);

// What `start_pipe` says: OK after exec, UNAVAILABLE when nothing yet, otherwise the step that
// failed: `exec '/x/cohost-worker': No such file or directory`. The child then ends with code 127.
absl::Status ReadStartError(int start_pipe, const std::string& program);

// What a child's exit code is when it could not be started.
inline constexpr int kStartFailedExitCode = 127;

}  // namespace cohost::supervisor
