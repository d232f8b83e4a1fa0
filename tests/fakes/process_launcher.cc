// SPDX-License-Identifier: Apache-2.0
#include "tests/fakes/process_launcher.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <utility>

#include "base/status.h"

namespace cohost::supervisor {

void FakeProcessLauncher::Launch(ProcessSpec spec,
                                 std::function<void(absl::StatusOr<LaunchedProcess>)> done) {
  absl::Status status = launch_status_;
  if (status.ok() && running_.contains(spec.name)) {
    status = absl::AlreadyExistsError("process '" + spec.name + "' runs");
  }
  UniqueFd ended(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  UniqueFd pidfd(fcntl(ended.get(), F_DUPFD_CLOEXEC, 0));
  if (status.ok() && !pidfd.valid()) status = ErrnoStatus(errno, "eventfd", "");
  if (!status.ok()) {
    callbacks_.push_back([done = std::move(done), status] { done(status); });
    return;
  }
  const pid_t pid = next_pid_++;
  running_[spec.name] = Running{pid, std::move(ended)};
  launched_.push_back(std::move(spec));
  callbacks_.push_back([done = std::move(done), pid, fd = pidfd.Release(), remarks = remarks_] {
    done(LaunchedProcess{pid, UniqueFd(fd), remarks});
  });
}

void FakeProcessLauncher::Kill(const std::string& name, std::function<void(absl::Status)> done) {
  if (kill_status_.ok() && running_.contains(name)) EndWithSignal(name, SIGKILL);
  callbacks_.push_back([done = std::move(done), status = kill_status_] { done(status); });
}

void FakeProcessLauncher::OnExit(std::function<void(const ExitRecord&)> handler) {
  on_exit_ = std::move(handler);
  callbacks_.push_back([this] {
    for (const ExitRecord& record : std::exchange(undelivered_, {})) on_exit_(record);
  });
}

void FakeProcessLauncher::RunCallbacks() {
  while (!callbacks_.empty()) {
    for (const auto& callback : std::exchange(callbacks_, {})) callback();
  }
}

void FakeProcessLauncher::End(ExitRecord record) {
  const auto process = running_.find(record.name);
  if (process == running_.end()) return;
  record.pid = process->second.pid;
  eventfd_write(process->second.ended.get(), 1);
  running_.erase(process);
  callbacks_.push_back([this, record = std::move(record)] {
    if (on_exit_) {
      on_exit_(record);
    } else {
      undelivered_.push_back(record);
    }
  });
}

void FakeProcessLauncher::EndWithExitCode(const std::string& name, int exit_code) {
  ExitRecord record;
  record.name = name;
  record.exit_code = exit_code;
  End(std::move(record));
}

void FakeProcessLauncher::EndWithSignal(const std::string& name, int signal) {
  ExitRecord record;
  record.name = name;
  record.signal = signal;
  End(std::move(record));
}

std::vector<std::string> FakeProcessLauncher::RunningNames() const {
  std::vector<std::string> names;
  for (const auto& [name, process] : running_) names.push_back(name);
  return names;
}

}  // namespace cohost::supervisor
