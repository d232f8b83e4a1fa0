// SPDX-License-Identifier: Apache-2.0
#include "worker/process_setup.h"

#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <initializer_list>

#include "absl/synchronization/mutex.h"
#include "base/format/link_protocol.h"
#include "base/status.h"

namespace cohost::worker {
namespace {

sigset_t LoopSignals() {
  sigset_t signals;
  (void)::sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGUSR1}) {
    (void)::sigaddset(&signals, signal);
  }
  return signals;
}

// In a forked child: async-signal-safe calls only.
void RestoreSignals() {
  (void)::signal(SIGPIPE, SIG_DFL);
  const sigset_t signals = LoopSignals();
  (void)::sigprocmask(SIG_UNBLOCK, &signals, nullptr);
}

void TuneAllocator() {
  // An arena for every thread would keep what each of a few hundred pool threads once used.
  (void)::mallopt(M_ARENA_MAX, 2);
  // Given back early and taken in small steps: a worker is idle most of the time.
  (void)::mallopt(M_TRIM_THRESHOLD, 64 << 10);
  (void)::mallopt(M_TOP_PAD, 16 << 10);
}

absl::Status SetCloseOnExec(int fd, const char* name) {
  if (::fcntl(fd, F_SETFD, FD_CLOEXEC) == 0) return absl::OkStatus();
  return ErrnoStatus(errno, "fcntl(F_SETFD)", name);
}

}  // namespace

absl::StatusOr<UniqueFd> SetUpProcess() {
  TuneAllocator();
  // gRPC's locks; Debian's Abseil looks for cycles in their order at every one of them.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  COHOST_RETURN_IF_ERROR(SetCloseOnExec(kLinkDescriptor, "link"));
  COHOST_RETURN_IF_ERROR(SetCloseOnExec(kSegmentDescriptor, "segment"));
  const sigset_t signals = LoopSignals();
  if (const int error = ::pthread_sigmask(SIG_BLOCK, &signals, nullptr); error != 0) {
    return ErrnoStatus(error, "pthread_sigmask", "");
  }
  if (::signal(SIGPIPE, SIG_IGN) == SIG_ERR) return ErrnoStatus(errno, "signal", "SIGPIPE");
  if (const int error = ::pthread_atfork(nullptr, nullptr, RestoreSignals); error != 0) {
    return ErrnoStatus(error, "pthread_atfork", "");
  }
  // What services print goes to a file; whole lines get there when they are printed, since
  // EndProcess flushes nothing.
  (void)::setvbuf(stdout, nullptr, _IOLBF, 0);
  UniqueFd fd(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd.valid()) return ErrnoStatus(errno, "signalfd", "");
  return fd;
}

void EndProcess() { ::_exit(0); }

void ArmLastResort(unsigned seconds) { (void)::alarm(seconds); }

}  // namespace cohost::worker
