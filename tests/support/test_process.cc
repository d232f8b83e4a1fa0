// SPDX-License-Identifier: Apache-2.0
#include "tests/support/test_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "base/status.h"
#include "base/system/pidfd.h"

extern char** environ;

namespace cohost::testing {
namespace {

std::vector<std::string> MakeEnvironment(const TestProcess::Options& options) {
  std::map<std::string, std::string> variables;
  const auto add = [&](const std::string& variable) {
    variables[variable.substr(0, variable.find('='))] = variable;
  };
  for (char** variable = environ; !options.clean_environment && *variable != nullptr; ++variable) {
    add(*variable);
  }
  for (const std::string& variable : options.environment) add(variable);
  std::vector<std::string> list;
  for (const auto& [name, variable] : variables) list.push_back(variable);
  return list;
}

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (const std::string& text : strings) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<pid_t> OwnChildren() {
  std::vector<pid_t> children;
  std::error_code ignored;  // a thread may end meanwhile
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", ignored)) {
    std::ifstream file(task.path() / "children");
    for (pid_t pid = 0; file >> pid;) children.push_back(pid);
  }
  return children;
}

// Those that TestProcesses own, living ones only.
std::set<pid_t>& Owned() {
  static std::set<pid_t> owned;
  return owned;
}

// Kills and reaps the orphans that fell to us, until no more come. A pid that is our child cannot
// be given away before we reap it.
void EndOrphans() {
  const auto none_left = [] {
    bool none = true;
    for (const pid_t pid : OwnChildren()) {
      if (Owned().contains(pid)) continue;
      none = false;
      const UniqueFd pidfd = OpenPidfd(pid);
      if (pidfd.valid()) (void)SignalPidfd(pidfd.get(), SIGKILL);
      (void)waitpid(pid, nullptr, WNOHANG);
    }
    return none;
  };
  (void)Eventually(none_left, absl::Seconds(10));
}

}  // namespace

absl::StatusOr<std::unique_ptr<TestProcess>> TestProcess::Start(const Options& options) {
  if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) return ErrnoStatus(errno, "prctl", "");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  // Duplicates above all targets, so that no dup2 overwrites a source still needed.
  constexpr int kAboveTargets = 100;
  std::vector<UniqueFd> sources;
  int highest = 2;
  for (const auto& [number, fd] : options.descriptors) {
    sources.emplace_back(fcntl(fd, F_DUPFD_CLOEXEC, kAboveTargets));
    posix_spawn_file_actions_adddup2(&actions, sources.back().get(), number);
    highest = std::max(highest, number);
  }
  posix_spawn_file_actions_addclosefrom_np(&actions, highest + 1);
  const std::vector<std::string> environment = MakeEnvironment(options);
  pid_t pid = 0;
  const int error = posix_spawn(&pid, options.command.front().c_str(), &actions, nullptr,
                                Pointers(options.command).data(), Pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return ErrnoStatus(error, "posix_spawn", options.command.front());
  Owned().insert(pid);
  return std::unique_ptr<TestProcess>(new TestProcess(pid, OpenPidfd(pid)));
}

TestProcess::~TestProcess() {
  if (!ended_) {
    (void)Signal(SIGKILL);
    (void)WaitUntilEnded();
  }
  EndOrphans();
}

bool TestProcess::Signal(int signal) const { return SignalPidfd(pidfd_.get(), signal) == 0; }

std::optional<TestProcess::Ended> TestProcess::WaitUntilEnded(absl::Duration limit) {
  if (ended_) return ended_;
  if (!WaitReadable(pidfd_.get(), limit)) return std::nullopt;
  siginfo_t info{};
  if (waitid(P_PIDFD, static_cast<id_t>(pidfd_.get()), &info, WEXITED) != 0) return std::nullopt;
  Owned().erase(pid_);
  ended_.emplace();
  (info.si_code == CLD_EXITED ? ended_->exit_code : ended_->signal) = info.si_status;
  return ended_;
}

std::string ProgramPath(const std::string& target_path) {
  // Tests run in their runfiles folder, where data lies below the workspace.
  return std::filesystem::absolute(target_path).string();
}

}  // namespace cohost::testing
