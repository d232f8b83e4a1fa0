// SPDX-License-Identifier: Apache-2.0
//
// What a process that the keeper starts looks like, seen from outside.

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/system/file.h"
#include "base/system/pidfd.h"
#include "gtest/gtest.h"
#include "tests/supervisor/keeper/keeper_harness.h"

namespace cohost::supervisor {
namespace {

std::string ReadProc(pid_t pid, const std::string& name) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/" + name);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<int> OpenDescriptors(pid_t pid) {
  std::vector<int> numbers;
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/fd")) {
    numbers.push_back(atoi(entry.path().filename().c_str()));
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

class Spawn : public ::testing::Test {
 protected:
  void SetUp() override {
    keeper_.Start();
    seat_ = keeper_.NextSeat();
    ASSERT_NE(seat_, nullptr);
    seat_->Connect();
  }

  KeeperHarness keeper_;
  std::unique_ptr<Seat> seat_;
};

TEST_F(Spawn, NamesTheStepAndTheReasonOfAFailedExec) {
  ProcessSpec spec = Shell("worker/none", "");
  spec.program = "/nowhere/cohost-worker";
  const auto launched = seat_->Launch(std::move(spec));
  ASSERT_FALSE(launched.ok());
  EXPECT_EQ(launched.status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(launched.status().message(),
            "exec '/nowhere/cohost-worker': No such file or directory");
  // Answered once: no exit record on top. The name is free again once the child was reaped.
  EXPECT_TRUE(seat_->Kill("worker/none").ok());
  EXPECT_EQ(seat_->FindExit("worker/none"), nullptr);
}

TEST_F(Spawn, RefusesANameThatRuns) {
  ASSERT_TRUE(seat_->Launch(Sleep("worker/a")).ok());
  const auto second = seat_->Launch(Sleep("worker/a"));
  EXPECT_EQ(second.status().code(), absl::StatusCode::kAlreadyExists);
}

TEST_F(Spawn, ReportsExitCodeSignalAndUsage) {
  ASSERT_TRUE(seat_->Launch(Shell("worker/code", "exit 7")).ok());
  ASSERT_TRUE(seat_->Launch(Shell("worker/signal", "kill -SEGV $$")).ok());
  ASSERT_TRUE(seat_->RunUntil([&] { return seat_->exits().size() == 2; }));
  EXPECT_EQ(seat_->FindExit("worker/code")->exit_code, 7);
  EXPECT_EQ(seat_->FindExit("worker/code")->signal, std::nullopt);
  EXPECT_EQ(seat_->FindExit("worker/signal")->signal, SIGSEGV);
  EXPECT_EQ(DescribeExit(*seat_->FindExit("worker/signal")), "signal 11 (SIGSEGV)");
}

TEST_F(Spawn, PidfdIsTheProcess) {
  const auto launched = seat_->Launch(Sleep("worker/a"));
  ASSERT_TRUE(launched.ok());
  EXPECT_EQ(SignalPidfd(launched->pidfd.get(), SIGTERM), 0);
  ASSERT_TRUE(seat_->RunUntil([&] { return !seat_->exits().empty(); }));
  EXPECT_EQ(seat_->exits()[0].pid, launched->pid);
  EXPECT_EQ(seat_->exits()[0].signal, SIGTERM);
}

// PRC-08: exactly the named descriptors, under their numbers, also when these cross over.
TEST_F(Spawn, Prc08ChildHasExactlyTheNamedDescriptors) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd read_end(ends[0]);
  const UniqueFd write_end(ends[1]);
  ProcessSpec spec = Sleep("worker/fds");
  spec.descriptors = {{9, read_end.get()}, {4, write_end.get()}, {1, write_end.get()}};
  const auto launched = seat_->Launch(std::move(spec));
  ASSERT_TRUE(launched.ok()) << launched.status();
  // Soon, not at once: the program's loader, and then the program, have files open for a moment.
  const std::vector<int> named = {0, 1, 2, 4, 9};
  std::vector<int> seen;
  EXPECT_TRUE(testing::Eventually([&] {
    seen = OpenDescriptors(launched->pid);
    return seen == named;
  }));
  EXPECT_EQ(seen, named);
  const std::string base = "/proc/" + std::to_string(launched->pid) + "/fd/";
  EXPECT_EQ(std::filesystem::read_symlink(base + "0"), "/dev/null");
  EXPECT_EQ(std::filesystem::read_symlink(base + "2"), "/dev/null");
  EXPECT_EQ(std::filesystem::read_symlink(base + "4"), std::filesystem::read_symlink(base + "1"));
}

TEST_F(Spawn, ChildIsInASessionOfItsOwnAndMarked) {
  const auto launched = seat_->Launch(Sleep("worker/a"));
  ASSERT_TRUE(launched.ok());
  EXPECT_EQ(getsid(launched->pid), launched->pid);
  EXPECT_EQ(StatusField(launched->pid, "NoNewPrivs"), "1");
  // The kernel shows it a moment after the descriptors that exec closes were closed.
  std::string environment;
  ASSERT_TRUE(testing::Eventually(
      [&] { return !(environment = ReadProc(launched->pid, "environ")).empty(); }));
  EXPECT_EQ(environment.find("PATH=/usr/bin:/bin"), 0u);
  EXPECT_TRUE(environment.ends_with(std::string("\0COHOST_PROCESS=worker/a\0", 25)));
  EXPECT_EQ(std::count(environment.begin(), environment.end(), '\0'), 3);
  EXPECT_EQ(ReadProc(launched->pid, "oom_score_adj"), "300\n");
}

TEST_F(Spawn, AppliesOpenFileAndCoreLimits) {
  ProcessSpec spec = Sleep("worker/a");
  spec.limits.open_files = 123;
  const auto launched = seat_->Launch(std::move(spec));
  ASSERT_TRUE(launched.ok());
  const std::string limits = ReadProc(launched->pid, "limits");
  EXPECT_NE(limits.find("Max open files            123                  123 "), std::string::npos)
      << limits;
  EXPECT_NE(limits.find("Max core file size        0                    0 "), std::string::npos);
}

// Started as root: another user, its groups and nothing else. As an ordinary user the same request
// is refused with the step that failed.
TEST_F(Spawn, RunsAsTheUserAndGroupsOfTheIdentity) {
  ProcessSpec spec = Sleep("worker/user");
  spec.identity.uid = 65534;
  spec.identity.gid = 65533;
  spec.identity.supplementary_groups = {65530, 65531};
  const auto launched = seat_->Launch(std::move(spec));
  if (geteuid() != 0) {
    EXPECT_EQ(launched.status().code(), absl::StatusCode::kPermissionDenied);
    EXPECT_NE(launched.status().message().find("setgroups"), std::string::npos);
    return;
  }
  ASSERT_TRUE(launched.ok()) << launched.status();
  EXPECT_EQ(StatusField(launched->pid, "Uid"), "65534\t65534\t65534\t65534");
  EXPECT_EQ(StatusField(launched->pid, "Gid"), "65533\t65533\t65533\t65533");
  EXPECT_EQ(StatusField(launched->pid, "Groups"), "65530 65531");
  EXPECT_EQ(StatusField(launched->pid, "CapPrm"), "0000000000000000");
  EXPECT_EQ(StatusField(launched->pid, "CapBnd"), "0000000000000000");
}

TEST_F(Spawn, SupervisorKeepsItsSixCapabilitiesAndWorkersOfRootNone) {
  const auto launched = seat_->Launch(Sleep("worker/root"));
  ASSERT_TRUE(launched.ok());
  EXPECT_EQ(StatusField(launched->pid, "CapEff"), "0000000000000000");
  EXPECT_EQ(StatusField(seat_->pid(), "CapEff"),
            geteuid() == 0 ? "000000000008042d" : "0000000000000000");
  EXPECT_EQ(StatusField(seat_->pid(), "NoNewPrivs"), "1");
}

TEST_F(Spawn, LimitsOfTheControlGroupAreAppliedOrRemarkedOn) {
  ProcessSpec spec = Sleep("worker/limits/0/1");
  spec.limits.memory = MiB(64);
  spec.limits.cpu = 0.5;
  spec.limits.tasks = 20;
  const auto launched = seat_->Launch(std::move(spec));
  ASSERT_TRUE(launched.ok()) << launched.status();
  const std::string groups = ReadProc(launched->pid, "cgroup");
  const bool grouped = groups.find(".worker.limits.0.1") != std::string::npos;
  EXPECT_TRUE(grouped || !launched->remarks.empty()) << groups;
  if (grouped && launched->remarks.empty()) {
    const size_t line = groups.find(":memory:");
    if (line != std::string::npos) {
      const size_t begin = line + 8;
      const std::string path = groups.substr(begin, groups.find('\n', begin) - begin);
      const auto limit =
          ReadRegularFile("/sys/fs/cgroup/memory" + path + "/memory.limit_in_bytes", KiB(1));
      ASSERT_TRUE(limit.ok()) << limit.status();
      EXPECT_EQ(*limit, "67108864\n");
    }
  }
}

}  // namespace
}  // namespace cohost::supervisor
