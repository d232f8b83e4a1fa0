// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/system/unique_fd.h"
#include "supervisor/keeper/activation.h"
#include "supervisor/keeper/child.h"
#include "supervisor/keeper/connection.h"
#include "supervisor/keeper/inventory.h"
#include "supervisor/keeper/options.h"
#include "supervisor/keeper/processes.h"
#include "supervisor/keeper/protocol.h"
#include "supervisor/keeper/restart_policy.h"

namespace cohost::supervisor {

// The keeper: starts the supervisor and again when it dies, forks what the supervisor asks for,
// reaps every child, and holds descriptors and exit records until a supervisor takes them. It
// decides nothing about services. One thread, one poll loop; it never waits for the supervisor.
class Keeper final : public ProcessListener {
 public:
  struct Environment {
    KeeperOptions options;
    std::vector<ActivatedSocket> activated;
    // signalfd of SIGCHLD, SIGTERM, SIGINT and SIGHUP, which are blocked.
    UniqueFd signals;
    // RLIMIT_NOFILE as it was given to us; ours was raised.
    rlimit open_files{};
    CgroupLayout cgroups;
  };

  // `clock` and `log` outlive it.
  Keeper(Environment environment, const Clock& clock, Log& log);

  // Until everything has ended; the exit code of the process.
  int Run();

  // ProcessListener
  void OnSpawned(uint64_t sequence, pid_t pid, int pidfd,
                 const std::vector<std::string>& remarks) override;
  void OnSpawnFailed(uint64_t sequence, const absl::Status& status) override;
  void OnExited(ExitNotice notice) override;
  void OnEnded(uint64_t sequence, const absl::Status& status) override;

 private:
  enum class Phase { kServing, kDraining, kEnding };

  // The supervisor's life.
  absl::StatusOr<StartedChild> ForkSupervisor();
  void StartSupervisor();
  void OnSupervisorExited(int status);
  void DropSupervisor(std::string_view reason);
  void CheckSupervisorStart();

  // Signals and children.
  void ReadSignals();
  void OnTerminate();
  void Reap();
  void BeginEnding(int exit_code);
  void KillStrayChildren() const;

  // Requests.
  void ReadRequests();
  void Handle(const KeeperMessage& request, std::vector<UniqueFd> descriptors);
  void ReportReady(std::string line);
  void Reply(uint64_t sequence, const absl::Status& status);

  void WaitAndDispatch();
  absl::Duration UntilNextDeadline() const;
  void CheckDeadlines();

  // Set in the constructor, never changed.
  const KeeperOptions options_;
  const std::string supervisor_program_;
  const rlimit open_files_;
  const Clock& clock_;
  Log& log_;
  const UniqueFd signals_;
  const SteadyTime start_;

  Processes processes_;
  Inventory inventory_;

  // The present supervisor; pid 0: none.
  pid_t supervisor_pid_ = 0;
  UniqueFd supervisor_pidfd_;
  UniqueFd supervisor_start_pipe_;
  SteadyTime supervisor_start_;
  Connection connection_;
  uint32_t supervisor_starts_ = 0;
  RestartPolicy restart_policy_;
  std::optional<SteadyTime> restart_at_;
  std::optional<SteadyTime> kill_supervisor_at_;
  bool was_ready_ = false;
  UniqueFd ready_fd_;

  Phase phase_ = Phase::kServing;
  SteadyTime phase_deadline_;
  int exit_code_ = 0;
};

}  // namespace cohost::supervisor
