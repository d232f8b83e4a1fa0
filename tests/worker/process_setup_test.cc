// SPDX-License-Identifier: Apache-2.0
#include "worker/process_setup.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <string>

#include "base/format/link_protocol.h"
#include "gtest/gtest.h"

namespace cohost::worker {
namespace {

constexpr std::array kLoopSignals = {SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGUSR1};

// What is set up here is set up for ever: each test does it in a child, whose exit code is 0 when
// all of its checks held, else the number of the line of the first that did not.
#define CHECK_OR_EXIT(condition) \
  if (!(condition)) ::_exit(__LINE__ % 250 + 1)

// Descriptors where the keeper leaves the link and the segment.
void MakeInherited() {
  for (const int fd : {kLinkDescriptor, kSegmentDescriptor}) {
    const int null = ::open("/dev/null", O_RDWR);
    CHECK_OR_EXIT(null >= 0 && ::dup2(null, fd) == fd);
    CHECK_OR_EXIT(::fcntl(fd, F_SETFD, 0) == 0);
  }
}

UniqueFd SetUpHere() {
  MakeInherited();
  absl::StatusOr<UniqueFd> signals = SetUpProcess();
  CHECK_OR_EXIT(signals.ok());
  return *std::move(signals);
}

void ExpectClean(void (*check)()) { EXPECT_EXIT(check(), ::testing::ExitedWithCode(0), ""); }

bool IsIgnored(int signal) {
  struct sigaction action {};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

sigset_t Blocked() {
  sigset_t blocked;
  CHECK_OR_EXIT(::pthread_sigmask(SIG_SETMASK, nullptr, &blocked) == 0);
  return blocked;
}

int ExitCodeOf(pid_t child) {
  int status = 0;
  CHECK_OR_EXIT(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(ProcessSetupDeathTest, InheritedDescriptorsAreNotInheritedOn) {
  ExpectClean([] {
    const UniqueFd signals = SetUpHere();
    for (const int fd : {kLinkDescriptor, kSegmentDescriptor, signals.get()}) {
      CHECK_OR_EXIT((::fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
    }
    CHECK_OR_EXIT((::fcntl(signals.get(), F_GETFL) & O_NONBLOCK) != 0);
    ::_exit(0);
  });
}

TEST(ProcessSetupDeathTest, WithoutLinkOrSegmentItSaysSo) {
  for (const int missing : {kLinkDescriptor, kSegmentDescriptor}) {
    EXPECT_EXIT(
        {
          MakeInherited();
          ::close(missing);
          ::_exit(SetUpProcess().ok() ? 1 : 0);
        },
        ::testing::ExitedWithCode(0), "");
  }
}

TEST(ProcessSetupDeathTest, SignalsComeByTheDescriptorAndKillNobody) {
  ExpectClean([] {
    const UniqueFd signals = SetUpHere();
    for (const int signal : kLoopSignals) {
      CHECK_OR_EXIT(::kill(::getpid(), signal) == 0);
      signalfd_siginfo info{};
      CHECK_OR_EXIT(::read(signals.get(), &info, sizeof(info)) == sizeof(info));
      CHECK_OR_EXIT(info.ssi_signo == static_cast<uint32_t>(signal));
    }
    signalfd_siginfo none{};
    CHECK_OR_EXIT(::read(signals.get(), &none, sizeof(none)) < 0 && errno == EAGAIN);
    ::_exit(0);
  });
}

TEST(ProcessSetupDeathTest, AnEndThatIsClosedIsAnErrorAndNoSignal) {
  ExpectClean([] {
    const UniqueFd signals = SetUpHere();
    std::array<int, 2> ends{};
    CHECK_OR_EXIT(::pipe(ends.data()) == 0);
    ::close(ends[0]);
    CHECK_OR_EXIT(::write(ends[1], "x", 1) < 0 && errno == EPIPE);
    ::_exit(0);
  });
}

TEST(ProcessSetupDeathTest, AForkedChildHasSignalsAsAProgramExpectsThem) {
  ExpectClean([] {
    const UniqueFd signals = SetUpHere();
    const pid_t child = ::fork();
    if (child == 0) {
      CHECK_OR_EXIT(!IsIgnored(SIGPIPE));
      const sigset_t blocked = Blocked();
      for (const int signal : kLoopSignals) CHECK_OR_EXIT(::sigismember(&blocked, signal) == 0);
      ::_exit(0);
    }
    const int code = ExitCodeOf(child);
    if (code != 0) ::_exit(code);
    // The parent keeps its own.
    CHECK_OR_EXIT(IsIgnored(SIGPIPE));
    const sigset_t blocked = Blocked();
    CHECK_OR_EXIT(::sigismember(&blocked, SIGTERM) == 1);
    ::_exit(0);
  });
}

TEST(ProcessSetupDeathTest, ASpawnedChildHasThemOnlyWhereTheCallerAsks) {
  ExpectClean([] {
    const UniqueFd signals = SetUpHere();
    // SIGTERM is bit 14 of SigBlk, SIGPIPE bit 12 of SigIgn.
    std::string shell = "/bin/sh";
    std::string option = "-c";
    std::string script =
        "while read -r key value; do case $key in SigBlk:) b=$value;; SigIgn:) i=$value;; esac; "
        "done < /proc/self/status; "
        "exit $(( (0x$b >> 14 & 1) * 2 + (0x$i >> 12 & 1) ))";
    char* arguments[] = {shell.data(), option.data(), script.data(), nullptr};
    pid_t child = 0;
    CHECK_OR_EXIT(::posix_spawn(&child, shell.c_str(), nullptr, nullptr, arguments, environ) == 0);
    CHECK_OR_EXIT(ExitCodeOf(child) == 3);

    posix_spawnattr_t attributes;
    sigset_t none;
    sigset_t pipe_only;
    ::sigemptyset(&none);
    ::sigemptyset(&pipe_only);
    ::sigaddset(&pipe_only, SIGPIPE);
    CHECK_OR_EXIT(::posix_spawnattr_init(&attributes) == 0);
    CHECK_OR_EXIT(::posix_spawnattr_setsigmask(&attributes, &none) == 0);
    CHECK_OR_EXIT(::posix_spawnattr_setsigdefault(&attributes, &pipe_only) == 0);
    CHECK_OR_EXIT(::posix_spawnattr_setflags(&attributes,
                                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF) == 0);
    CHECK_OR_EXIT(::posix_spawn(&child, shell.c_str(), nullptr, &attributes, arguments, environ) ==
                  0);
    CHECK_OR_EXIT(ExitCodeOf(child) == 0);
    ::_exit(0);
  });
}

TEST(ProcessSetupDeathTest, TheEndRunsNoDestructors) {
  ExpectClean([] {
    CHECK_OR_EXIT(std::atexit([] { ::_exit(99); }) == 0);
    EndProcess();
  });
}

TEST(ProcessSetupDeathTest, TheLastResortEndsAProcessThatHangs) {
  EXPECT_EXIT(
      {
        const UniqueFd signals = SetUpHere();
        ArmLastResort(1);
        for (;;) ::pause();
      },
      ::testing::KilledBySignal(SIGALRM), "");
}

}  // namespace
}  // namespace cohost::worker
