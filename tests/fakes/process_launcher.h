// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "supervisor/process/process_launcher.h"

namespace cohost::supervisor {

// A ProcessLauncher without processes: every launch succeeds (or fails as told) with a pid of its
// own and an eventfd in the pidfd's place, which becomes readable when the process "ends".
// Callbacks wait until RunCallbacks, as the real ones wait for the loop. Single-threaded.
class FakeProcessLauncher final : public ProcessLauncher {
 public:
  void Launch(ProcessSpec spec, std::function<void(absl::StatusOr<LaunchedProcess>)> done) override;
  void Kill(const std::string& name, std::function<void(absl::Status)> done) override;
  void OnExit(std::function<void(const ExitRecord&)> handler) override;

  // Runs what is due, and what becomes due meanwhile.
  void RunCallbacks();

  // The next launches fail with this until it is set to OK.
  void FailLaunches(absl::Status status) { launch_status_ = std::move(status); }
  // What the next launches say that they could not do.
  void RemarkOnLaunches(std::vector<std::string> remarks) { remarks_ = std::move(remarks); }
  // Kills answer with this and leave the process running, until it is set to OK.
  void FailKills(absl::Status status) { kill_status_ = std::move(status); }

  // Ends a running process by itself. `record.name` says which; its pid is filled in.
  void End(ExitRecord record);
  void EndWithExitCode(const std::string& name, int exit_code);
  void EndWithSignal(const std::string& name, int signal);

  bool IsRunning(const std::string& name) const { return running_.contains(name); }
  std::vector<std::string> RunningNames() const;
  // All launches that succeeded, in order; descriptors in them are no longer valid.
  const std::vector<ProcessSpec>& launched() const { return launched_; }

 private:
  struct Running {
    pid_t pid;
    UniqueFd ended;  // the other duplicate of the eventfd
  };

  std::map<std::string, Running> running_;
  std::vector<ProcessSpec> launched_;
  std::vector<std::function<void()>> callbacks_;
  std::vector<ExitRecord> undelivered_;  // ended before a handler was set
  std::function<void(const ExitRecord&)> on_exit_;
  absl::Status launch_status_;
  std::vector<std::string> remarks_;
  absl::Status kill_status_;
  pid_t next_pid_ = 1000;
};

}  // namespace cohost::supervisor
