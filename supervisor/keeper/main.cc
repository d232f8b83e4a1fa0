// SPDX-License-Identifier: Apache-2.0
//
// cohostd, what people and systemd start: see keeper.h.

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>

#include "absl/status/status.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/status.h"
#include "base/system/file.h"
#include "base/version.h"
#include "supervisor/keeper/activation.h"
#include "supervisor/keeper/cgroup.h"
#include "supervisor/keeper/cgroup_layout.h"
#include "supervisor/keeper/keeper.h"
#include "supervisor/keeper/options.h"

namespace cohost::supervisor {
namespace {

// As preferred as the system's own services, not untouchable (-1000): then a machine out of memory
// would rather panic.
constexpr char kOwnOomScore[] = "-900";

int Refuse(const absl::Status& status) {
  std::fprintf(stderr, "cohostd: %s\n", std::string(status.message()).c_str());
  return 1;
}

// 0 to 2 open, so that no descriptor of ours gets their numbers.
absl::Status OpenStandardDescriptors() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (fcntl(fd, F_GETFD) >= 0) continue;
    if (open("/dev/null", O_RDWR) < 0) return ErrnoStatus(errno, "open", "/dev/null");
  }
  return absl::OkStatus();
}

// The signal state of whoever started us must not be ours (PRC-07): a SIGCHLD that is ignored, for
// instance, would make exit statuses vanish.
absl::StatusOr<UniqueFd> SetUpSignals() {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  // Ignoring the results: SIGKILL, SIGSTOP and glibc's own two cannot be set.
  for (int number = 1; number < NSIG; ++number) sigaction(number, &action, nullptr);
  action.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &action, nullptr);
  sigset_t handled;
  sigemptyset(&handled);
  for (const int number : {SIGCHLD, SIGTERM, SIGINT, SIGHUP}) sigaddset(&handled, number);
  if (sigprocmask(SIG_SETMASK, &handled, nullptr) != 0)
    return ErrnoStatus(errno, "sigprocmask", "");
  UniqueFd signals(signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals.valid()) return ErrnoStatus(errno, "signalfd", "");
  return signals;
}

// A keeper holds duplicates of everything, so it takes the hard limit; children get the old one.
rlimit RaiseOpenFiles() {
  rlimit given{};
  if (getrlimit(RLIMIT_NOFILE, &given) != 0) return given;
  const rlimit raised{given.rlim_max, given.rlim_max};
  // Ignoring the result: then the soft limit stays ours too.
  (void)setrlimit(RLIMIT_NOFILE, &raised);
  return given;
}

void PreferForSurvival() {
  const absl::StatusOr<UniqueFd> fd = OpenFile("/proc/self/oom_score_adj", O_WRONLY);
  // Ignoring the results: an ordinary user may not lower it.
  if (fd.ok()) (void)WriteAll(fd->get(), kOwnOomScore);
}

int Main(int argc, char** argv) {
  if (absl::Status status = OpenStandardDescriptors(); !status.ok()) return Refuse(status);
  absl::StatusOr<std::vector<ActivatedSocket>> activated = TakeActivatedSockets();
  absl::StatusOr<KeeperOptions> options =
      ParseKeeperOptions({argv + 1, static_cast<size_t>(argc > 0 ? argc - 1 : 0)});
  if (!options.ok()) return Refuse(options.status());
  if (options->help) return std::fputs(kKeeperHelp, stdout) < 0 ? 2 : 0;
  if (options->version) return std::printf("cohostd %s\n", kVersion) < 0 ? 2 : 0;
  if (!activated.ok()) return Refuse(activated.status());
  if (options->ready_fd >= 0 && fcntl(options->ready_fd, F_SETFD, FD_CLOEXEC) != 0) {
    return Refuse(ErrnoStatus(errno, "--ready-fd", std::to_string(options->ready_fd)));
  }

  Log log(STDERR_FILENO, "keeper");
  Keeper::Environment environment;
  absl::StatusOr<UniqueFd> signals = SetUpSignals();
  if (!signals.ok() || prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) {
    log.Error("cannot set up signals and children");
    return 2;
  }
  PreferForSurvival();
  environment.options = *std::move(options);
  environment.activated = *std::move(activated);
  environment.signals = *std::move(signals);
  environment.open_files = RaiseOpenFiles();
  environment.cgroups = ReadCgroupLayout();
  RemoveAbandonedCgroups(environment.cgroups);
  const std::string problem = PrepareCgroups(environment.cgroups, "keeper");
  if (!problem.empty()) log.Warning("control groups are not usable", {{"reason", problem}});
  return Keeper(std::move(environment), SystemClock(), log).Run();
}

}  // namespace
}  // namespace cohost::supervisor

int main(int argc, char** argv) { return cohost::supervisor::Main(argc, argv); }
