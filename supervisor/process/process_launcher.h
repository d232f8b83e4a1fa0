// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/system/unique_fd.h"
#include "base/units.h"

namespace cohost::supervisor {

// What a process may be and use. Numbers only: names were resolved when the deployment was read.
struct ProcessIdentity {
  // Unset: the keeper's own (when it does not run as root).
  std::optional<uid_t> uid;
  std::optional<gid_t> gid;
  std::vector<gid_t> supplementary_groups;
  friend bool operator==(const ProcessIdentity&, const ProcessIdentity&) = default;
};

struct ProcessLimits {
  // RLIMIT_NOFILE, soft and hard, at most the keeper's hard limit; 0: the keeper's.
  uint64_t open_files = 0;
  // RLIMIT_CORE in bytes.
  Bytes core_size;
  // -1000 to 1000; workers have 300 so that the kernel takes them before the supervisor (MEM-02).
  int oom_score_adjust = 300;
  // Of the cgroup; 0: none. The memory limit is a backstop above the recycling limit.
  Bytes memory;
  // In cores.
  double cpu = 0;
  uint32_t tasks = 0;
};

// One program to start.
struct ProcessSpec {
  // Unique among living processes: "worker/steady-1/0/7". Names its cgroup too.
  std::string name;
  std::string program;                   // absolute path
  std::vector<std::string> arguments;    // argv[0] first
  std::vector<std::string> environment;  // the whole environment, "KEY=value"
  // Number in the child and descriptor here (borrowed for the call). 0, 1 and 2 are /dev/null where
  // not named.
  std::vector<std::pair<int, int>> descriptors;
  ProcessIdentity identity;
  ProcessLimits limits;
  bool use_cgroup = true;
};

struct LaunchedProcess {
  pid_t pid = 0;
  UniqueFd pidfd;
  // Limits that could not be applied, one line each (no writable cgroup, ...).
  std::vector<std::string> remarks;
};

// How a process ended, as the keeper reaped it.
struct ExitRecord {
  std::string name;
  pid_t pid = 0;
  // Exactly one of the two is set, none when the status was lost.
  std::optional<int> exit_code;
  std::optional<int> signal;
  // A process of its cgroup was killed for memory.
  bool out_of_memory = false;
  absl::Duration user_time;
  absl::Duration system_time;
};
// "exit code 3", "signal 11 (SIGSEGV)", "signal 9 (SIGKILL), out of memory", "unknown".
std::string DescribeExit(const ExitRecord& record);

// Starts and ends processes. Loop thread only; callbacks run on the loop thread, never inside the
// call. The means is the keeper: nothing that has threads ever forks.
class ProcessLauncher {
 public:
  virtual ~ProcessLauncher() = default;

  // Fails with what and why (`exec '/x/cohost-worker': No such file or directory`).
  virtual void Launch(ProcessSpec spec,
                      std::function<void(absl::StatusOr<LaunchedProcess>)> done) = 0;

  // Kills everything that belongs to a process of this name, descendants included, and again until
  // nothing is left; done when nothing is. DEADLINE_EXCEEDED when something survives for 5 s
  // (HLT-06).
  virtual void Kill(const std::string& name, std::function<void(absl::Status)> done) = 0;

  // Called once for every process that ended, also for those that ended while no supervisor was
  // there. A record is acknowledged to the keeper when the handler returns.
  virtual void OnExit(std::function<void(const ExitRecord&)> handler) = 0;
};

// A named set of descriptors with a few bytes that survives the supervisor.
struct HeldEntry {
  std::string name;  // "listener/...", "link/...", "segment/...", "ledger", "lock"
  std::string blob;  // up to 4 KiB, the holder's own
  std::vector<UniqueFd> descriptors;
};

// Keeps duplicates of descriptors beyond this process's life. Loop thread only.
class DescriptorHolder {
 public:
  virtual ~DescriptorHolder() = default;
  // Replaces an entry of the same name. `descriptors` are borrowed for the call.
  virtual void Hold(const std::string& name, const std::string& blob,
                    const std::vector<int>& descriptors,
                    std::function<void(absl::Status)> done) = 0;
  // Unknown names are OK.
  virtual void Release(const std::string& name) = 0;
};

// A process that the keeper already had when this supervisor started.
struct RunningProcess {
  std::string name;
  pid_t pid = 0;
  UniqueFd pidfd;
};

// Everything the keeper hands to a new supervisor.
struct Inheritance {
  // 0 for the first supervisor of this keeper.
  uint32_t supervisor_restarts = 0;
  // CLOCK_MONOTONIC nanoseconds of the keeper's own start.
  int64_t keeper_start_ns = 0;
  std::vector<HeldEntry> held;
  std::vector<RunningProcess> processes;
};

}  // namespace cohost::supervisor
