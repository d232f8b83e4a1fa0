// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "supervisor/modules/precompile/process_runner.h"
#include "supervisor/process/process_launcher.h"

namespace boost::asio {
class io_context;
}  // namespace boost::asio

namespace cohost::supervisor {

// Runs programs by the launcher, hence by the keeper. Made and ended on the loop thread; Run is
// called on others, which have to be back before it ends (Stop makes them). Loop and launcher
// outlive it.
class LauncherProcessRunner final : public ProcessRunner {
 public:
  // What names of its processes begin with.
  static constexpr char kNamePrefix[] = "run/";

  // `incarnation` tells this supervisor's processes from those of the one before, which may still
  // run (Inheritance::supervisor_restarts).
  LauncherProcessRunner(boost::asio::io_context& loop, ProcessLauncher& launcher,
                        uint32_t incarnation);
  ~LauncherProcessRunner() override;

  // Loop thread: what the launcher's OnExit got. False when it is no process of a runner. One of an
  // earlier supervisor is taken and forgotten.
  bool HandleExit(const ExitRecord& record);
  // Loop thread: kills processes that an earlier supervisor left.
  void KillLeftovers(const std::vector<RunningProcess>& processes);
  // Loop thread: everything that runs is killed, its callers get CANCELLED, and so do later ones,
  // also when the loop does not run any more.
  void Stop();

  absl::StatusOr<RunResult> Run(const RunRequest& request) override;

 private:
  class Call;
  struct State;
  static void Begin(const std::shared_ptr<State>& state, const std::shared_ptr<Call>& call);
  static void Kill(const std::shared_ptr<State>& state, const std::shared_ptr<Call>& call);

  boost::asio::io_context& loop_;
  const std::string prefix_;
  // Shared with what is posted to the loop.
  const std::shared_ptr<State> state_;
};

// The command that runs `program` behind everything that serves, by those of nice(1), chrt(1) and
// ionice(1) that are installed; the program itself is its end.
std::vector<std::string> LowPriorityCommand(const std::string& program,
                                            const std::vector<std::string>& arguments);

}  // namespace cohost::supervisor
