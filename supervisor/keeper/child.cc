// SPDX-License-Identifier: Apache-2.0
#include "supervisor/keeper/child.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/system/pidfd.h"

namespace cohost::supervisor {
namespace {

enum class Step : int {
  kSession,
  kCgroup,
  kDescriptors,
  kLimits,
  kGroups,
  kGid,
  kUid,
  kNoNewPrivileges,
  kExec,
};
constexpr std::array<std::string_view, 9> kStepNames = {
    "setsid", "join cgroup", "place descriptors", "setrlimit", "setgroups",
    "setgid", "setuid",      "no_new_privs",      "exec",
};

struct StartError {
  int step;
  int error;
};

// Plain pointers into the plan, so that the child allocates nothing.
struct Prepared {
  std::vector<char*> arguments;
  std::vector<char*> environment;
  // Target and source; the sources are replaced by duplicates in the child.
  std::vector<std::pair<int, int>> descriptors;
  int highest_target = 2;
  std::string oom_score;
  bool change_identity = false;
  int error_pipe = -1;
};

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (const std::string& text : strings) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

[[noreturn]] void Fail(const Prepared& prepared, Step step) {
  const StartError error{static_cast<int>(step), errno};
  // Ignoring the result: without a reader nobody waits for it either.
  (void)!write(prepared.error_pipe, &error, sizeof(error));
  _exit(kStartFailedExitCode);
}

// From here to Exec only system calls: this runs between fork and exec.

void PlaceDescriptors(Prepared& prepared) {
  const int above = prepared.highest_target + 1;
  // First everything is moved above all targets, so that no dup2 overwrites a source still needed.
  prepared.error_pipe = fcntl(prepared.error_pipe, F_DUPFD_CLOEXEC, above);
  if (prepared.error_pipe < 0) _exit(kStartFailedExitCode);
  for (auto& [target, source] : prepared.descriptors) {
    source = fcntl(source, F_DUPFD_CLOEXEC, above);
    if (source < 0) Fail(prepared, Step::kDescriptors);
  }
  for (const auto& [target, source] : prepared.descriptors) {
    if (dup2(source, target) < 0) Fail(prepared, Step::kDescriptors);
  }
  int next = 0;
  for (const auto& [target, source] : prepared.descriptors) {
    for (; next < target; ++next) close(next);  // ignoring: most were not open
    next = target + 1;
  }
  // Not closed but marked, since the error pipe has to report a failed exec.
  if (close_range(static_cast<unsigned>(next), ~0U, CLOSE_RANGE_CLOEXEC) != 0) {
    Fail(prepared, Step::kDescriptors);
  }
}

void SetOomScore(const Prepared& prepared) {
  const int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  // Ignoring the result: lowering it is not allowed to ordinary users, and it is a preference only.
  (void)!write(fd, prepared.oom_score.data(), prepared.oom_score.size());
  close(fd);
}

void SetLimits(const ChildPlan& plan, const Prepared& prepared) {
  const rlimit files{plan.open_files_soft, plan.open_files_hard};
  const rlimit core{plan.core_size, plan.core_size};
  if (setrlimit(RLIMIT_NOFILE, &files) != 0) Fail(prepared, Step::kLimits);
  // A core limit above the hard one of an ordinary user is lowered to it, not an error.
  rlimit old_core{};
  if (setrlimit(RLIMIT_CORE, &core) != 0 && getrlimit(RLIMIT_CORE, &old_core) == 0) {
    old_core.rlim_cur = std::min<rlim_t>(old_core.rlim_max, plan.core_size);
    if (setrlimit(RLIMIT_CORE, &old_core) != 0) Fail(prepared, Step::kLimits);
  }
}

void SetIdentity(const ChildPlan& plan, const Prepared& prepared) {
  // What is dropped from the bounding set is not gained by a uid 0 at exec. Ignoring the results:
  // numbers beyond the kernel's last are invalid, and ordinary users have nothing to drop.
  for (unsigned capability = 0; capability < 64; ++capability) {
    if ((plan.capabilities >> capability & 1) == 0) prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
  }
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  if (prepared.change_identity) {
    // The bare system calls: glibc's wrappers signal other threads, of which there are none.
    if (syscall(SYS_setgroups, plan.groups.size(), plan.groups.data()) != 0) {
      Fail(prepared, Step::kGroups);
    }
    if (plan.gid && syscall(SYS_setresgid, *plan.gid, *plan.gid, *plan.gid) != 0) {
      Fail(prepared, Step::kGid);
    }
    if (plan.uid && syscall(SYS_setresuid, *plan.uid, *plan.uid, *plan.uid) != 0) {
      Fail(prepared, Step::kUid);
    }
  }
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) Fail(prepared, Step::kNoNewPrivileges);
}

void ResetSignals() {
  // The kernel's structure, all zero: default handler, no flags, empty mask. Not sigaction(3),
  // which refuses glibc's own two signals, and these can come ignored from whoever started the
  // keeper.
  const std::array<uint64_t, 4> defaults{};
  constexpr size_t kMaskSize = 8;
  // Ignoring the results: SIGKILL and SIGSTOP cannot be set.
  for (int number = 1; number < NSIG; ++number) {
    syscall(SYS_rt_sigaction, number, defaults.data(), nullptr, kMaskSize);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

[[noreturn]] void RunChild(const ChildPlan& plan, Prepared& prepared) {
  if (setsid() < 0) Fail(prepared, Step::kSession);
  for (const int procs : plan.cgroup_procs) {
    if (write(procs, "0", 1) != 1) Fail(prepared, Step::kCgroup);
  }
  PlaceDescriptors(prepared);
  // Found as who the keeper is, and executed by descriptor: a program may lie where its future user
  // cannot look (a build below /root).
  const int program = open(plan.program.c_str(), O_PATH | O_CLOEXEC);
  SetOomScore(prepared);
  SetLimits(plan, prepared);
  SetIdentity(plan, prepared);
  ResetSignals();
  if (program >= 0) {
    syscall(SYS_execveat, program, "", prepared.arguments.data(), prepared.environment.data(),
            AT_EMPTY_PATH);
    // ENOENT: a script, whose interpreter could not open a descriptor that closes at exec.
    if (errno != ENOENT) Fail(prepared, Step::kExec);
  }
  execve(plan.program.c_str(), prepared.arguments.data(), prepared.environment.data());
  Fail(prepared, Step::kExec);
}

Prepared Prepare(const ChildPlan& plan) {
  Prepared prepared;
  prepared.arguments = Pointers(plan.arguments);
  prepared.environment = Pointers(plan.environment);
  prepared.descriptors = plan.descriptors;
  prepared.oom_score = absl::StrCat(plan.oom_score_adjust);
  // An ordinary user may "change" to itself only, and must not call setgroups.
  prepared.change_identity = (plan.uid && *plan.uid != geteuid()) ||
                             (plan.gid && *plan.gid != getegid()) || (plan.uid && geteuid() == 0);
  return prepared;
}

}  // namespace

absl::StatusOr<StartedChild> StartChild(const ChildPlan& plan) {
  Prepared prepared = Prepare(plan);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return ErrnoStatus(errno, "pipe", "");
  StartedChild child;
  child.start_pipe.Reset(ends[0]);
  const UniqueFd write_end(ends[1]);
  prepared.error_pipe = write_end.get();
  const UniqueFd null_device(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null_device.valid()) return ErrnoStatus(errno, "open", "/dev/null");
  for (int number = 0; number <= 2; ++number) {
    const bool named = std::any_of(plan.descriptors.begin(), plan.descriptors.end(),
                                   [&](const auto& pair) { return pair.first == number; });
    if (!named) prepared.descriptors.emplace_back(number, null_device.get());
  }
  std::sort(prepared.descriptors.begin(), prepared.descriptors.end());
  prepared.highest_target = prepared.descriptors.back().first;

  child.pid = fork();
  if (child.pid < 0) return ErrnoStatus(errno, "fork", "");
  if (child.pid == 0) RunChild(plan, prepared);
  // The number cannot have been given away: only this thread reaps.
  child.pidfd = OpenPidfd(child.pid);
  if (!child.pidfd.valid()) {
    const int error = errno;
    // The one signal by number: our own child that nobody but this thread can reap. Its status is
    // collected by the loop like that of any unknown child.
    kill(child.pid, SIGKILL);
    return ErrnoStatus(error, "pidfd_open", plan.program);
  }
  return child;
}

absl::Status ReadStartError(int start_pipe, const std::string& program) {
  StartError error{};
  ssize_t got = 0;
  do {
    got = read(start_pipe, &error, sizeof(error));
  } while (got < 0 && errno == EINTR);
  if (got == 0) return absl::OkStatus();
  if (got < 0 && errno == EAGAIN) return absl::UnavailableError("the child still starts");
  if (got != sizeof(error) || error.step < 0 ||
      static_cast<size_t>(error.step) >= kStepNames.size()) {
    return absl::InternalError("start pipe: malformed");
  }
  return ErrnoStatus(error.error, kStepNames[static_cast<size_t>(error.step)], program);
}

}  // namespace cohost::supervisor
