// SPDX-License-Identifier: Apache-2.0
//
// The cases PRC-04, PRC-05, PRC-07 and SOK-08 against a real cohostd.

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "base/system/file.h"
#include "base/system/pidfd.h"
#include "gtest/gtest.h"
#include "tests/supervisor/keeper/keeper_harness.h"

namespace cohost::supervisor {
namespace {

using testing::Eventually;

// Descendants in sessions of their own, double-forked, also from one another.
constexpr char kKids[] =
    "for i in 1 2 3; do setsid sh -c '(sleep 1000 & sleep 1000) & sleep 1000' & done; "
    "(setsid sleep 1000 &); exec sleep 1000";
// The sleeps, and the shells that wait for some of them.
constexpr size_t kKidsAtLeast = 8;

std::vector<pid_t> Children(pid_t pid) {
  std::vector<pid_t> children;
  const std::string number = std::to_string(pid);
  std::ifstream file("/proc/" + number + "/task/" + number + "/children");
  for (pid_t child = 0; file >> child;) children.push_back(child);
  return children;
}

pid_t ParentOf(pid_t pid) { return atoi(StatusField(pid, "PPid").c_str()); }

size_t Zombies(pid_t parent) {
  size_t zombies = 0;
  for (const pid_t child : Children(parent)) {
    if (StatusField(child, "State").starts_with("Z")) ++zombies;
  }
  return zombies;
}

class Kids : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    keeper_.Start();
    seat_ = keeper_.NextSeat();
    ASSERT_NE(seat_, nullptr);
    seat_->Connect();
  }
  void StartKids(const std::string& name) {
    ProcessSpec spec = Shell(name, kKids);
    spec.use_cgroup = GetParam();
    ASSERT_TRUE(seat_->Launch(std::move(spec)).ok());
    ASSERT_TRUE(Eventually([&] { return ProcessesMarked(name).size() >= kKidsAtLeast; }));
  }

  KeeperHarness keeper_;
  std::unique_ptr<Seat> seat_;
};

// With control groups where this machine has them, and without.
INSTANTIATE_TEST_SUITE_P(Prc04, Kids, ::testing::Bool(), [](const auto& parameter) {
  return parameter.param ? "WithCgroup" : "WithoutCgroup";
});

TEST_P(Kids, Prc04NothingOfAKilledProcessIsLeft) {
  for (int round = 0; round < 10; ++round) {
    const std::string name = "worker/kids/0/" + std::to_string(round);
    StartKids(name);
    EXPECT_TRUE(seat_->Kill(name).ok());
    EXPECT_EQ(ProcessesMarked(name), std::vector<pid_t>{});
  }
}

TEST_P(Kids, Prc04NothingOfAProcessThatDiedIsLeft) {
  StartKids("worker/kids");
  // The main process alone, as a crash would; it is found once it has had all of its children.
  pid_t main_process = -1;
  ASSERT_TRUE(Eventually([&] {
    for (const pid_t pid : ProcessesMarked("worker/kids")) {
      if (ParentOf(pid) == keeper_.process().pid() && getsid(pid) == pid &&
          Children(pid).size() >= 3) {
        main_process = pid;
      }
    }
    return main_process > 0;
  }));
  ASSERT_EQ(kill(main_process, SIGSEGV), 0);
  ASSERT_TRUE(seat_->RunUntil([&] { return seat_->FindExit("worker/kids") != nullptr; }));
  EXPECT_EQ(seat_->FindExit("worker/kids")->signal, SIGSEGV);
  EXPECT_TRUE(Eventually([] { return ProcessesMarked("worker/kids").empty(); }));
}

TEST_P(Kids, Prc04NeighboursOfAKilledProcessLive) {
  StartKids("worker/kids/1");
  ASSERT_TRUE(seat_->Launch(Sleep("worker/kids/10")).ok());
  EXPECT_TRUE(seat_->Kill("worker/kids/1").ok());
  EXPECT_EQ(ProcessesMarked("worker/kids/10").size(), 1u);
}

TEST_P(Kids, Prc04NothingIsLeftWhenTheKeeperEnds) {
  StartKids("worker/kids");
  ASSERT_TRUE(keeper_.process().Signal(SIGTERM));
  ASSERT_TRUE(keeper_.process().Signal(SIGTERM));
  seat_->client().ReportShutdownComplete(0);
  ASSERT_TRUE(keeper_.process().WaitUntilEnded().has_value());
  EXPECT_EQ(ProcessesMarked("worker/kids"), std::vector<pid_t>{});
}

// As pid 1 of a namespace where this may be made, as an ordinary process elsewhere: the duties of
// reaping are the same.
TEST(Reaping, Prc05OrphansAreReapedAndTwentyExitCodesAreRight) {
  KeeperHarness keeper;
  std::vector<std::string> wrapper;
  if (geteuid() == 0) {
    wrapper = {"/usr/bin/unshare", "--pid", "--fork", "--kill-child", "--mount-proc"};
  }
  keeper.Start({}, {}, wrapper);
  auto seat = keeper.NextSeat();
  ASSERT_NE(seat, nullptr);
  seat->Connect();
  const pid_t cohostd = ParentOf(seat->pid());
  ASSERT_TRUE(seat->Launch(Shell("worker/orphans",
                                 "i=0; while [ $i -lt 1000 ]; do (true & ); i=$((i+1)); done; "
                                 "exec sleep 1000"))
                  .ok());
  for (int i = 0; i < 20; ++i) {
    const std::string number = std::to_string(i);
    const auto launched =
        seat->Launch(Shell("worker/crash/" + number, "exit " + std::to_string(100 + i)));
    ASSERT_TRUE(launched.ok()) << launched.status();
  }
  ASSERT_TRUE(seat->RunUntil([&] { return seat->exits().size() == 20; }));
  for (int i = 0; i < 20; ++i) {
    const ExitRecord* record = seat->FindExit("worker/crash/" + std::to_string(i));
    ASSERT_NE(record, nullptr) << i;
    EXPECT_EQ(record->exit_code, 100 + i);
  }
  // All orphans were made once the shell has become sleep.
  const auto only_sleep_left = [&] {
    for (const pid_t child : Children(cohostd)) {
      if (child != seat->pid() && StatusField(child, "Name") != "sleep") return false;
    }
    return Children(cohostd).size() == 2;
  };
  EXPECT_TRUE(Eventually(only_sleep_left));
  EXPECT_TRUE(Eventually([&] { return Zombies(cohostd) == 0; }, absl::Seconds(2)));
  // unshare does not pass signals on.
  EXPECT_TRUE(Eventually([&] {
    kill(cohostd, SIGTERM);
    return keeper.process().WaitUntilEnded(absl::Milliseconds(10)).has_value();
  }));
}

TEST(SignalState, Prc07ChildrenHaveNoBlockedOrIgnoredSignals) {
  KeeperHarness keeper;
  keeper.Start({}, {}, {"/bin/sh", "-c", "trap '' PIPE HUP CHLD TERM; exec \"$@\"", "sh"});
  auto seat = keeper.NextSeat();
  ASSERT_NE(seat, nullptr);
  seat->Connect();
  const auto launched = seat->Launch(Sleep("worker/a"));
  ASSERT_TRUE(launched.ok());
  for (const pid_t pid : {launched->pid, seat->pid()}) {
    EXPECT_EQ(StatusField(pid, "SigBlk"), "0000000000000000");
    EXPECT_EQ(StatusField(pid, "SigIgn"), "0000000000000000");
  }
  EXPECT_EQ(SignalPidfd(launched->pidfd.get(), SIGTERM), 0);
  EXPECT_TRUE(testing::WaitReadable(launched->pidfd.get(), absl::Seconds(1)));
  // The keeper itself still hears what its starter had ignored.
  int reloads = 0;
  seat->client().OnReload([&] { ++reloads; });
  ASSERT_TRUE(keeper.process().Signal(SIGHUP));
  EXPECT_TRUE(seat->RunUntil([&] { return reloads == 1; }));
}

class Activation : public ::testing::Test {
 protected:
  static UniqueFd Listener() {
    UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(listen(fd.get(), 8), 0);
    return fd;
  }
  // Starts cohostd with two descriptors; `pid` is a shell word for LISTEN_PID.
  void Start(int third, int fourth, const std::string& pid) {
    testing::TestProcess::Options process;
    process.descriptors = {{3, third}, {4, fourth}};
    keeper_.Start(
        {}, process,
        {"/bin/sh", "-c",
         "LISTEN_FDS=2 LISTEN_FDNAMES=web:admin LISTEN_PID=" + pid + " exec \"$@\"", "sh"});
  }
  static bool SameFile(int a, int b) {
    struct stat first {};
    struct stat second {};
    return fstat(a, &first) == 0 && fstat(b, &second) == 0 && first.st_ino == second.st_ino;
  }

  KeeperHarness keeper_;
};

TEST_F(Activation, Sok08SocketsForThisProcessAreHeld) {
  const UniqueFd web = Listener();
  const UniqueFd admin = Listener();
  Start(web.get(), admin.get(), "$$");
  auto seat = keeper_.NextSeat();
  ASSERT_NE(seat, nullptr);
  seat->Connect();
  const auto& held = seat->inheritance().held;
  ASSERT_EQ(held.size(), 2u);
  EXPECT_EQ(held[0].name, "activation/0");
  EXPECT_EQ(held[0].blob, "web");
  EXPECT_TRUE(SameFile(held[0].descriptors[0].get(), web.get()));
  EXPECT_EQ(held[1].blob, "admin");
  EXPECT_TRUE(SameFile(held[1].descriptors[0].get(), admin.get()));
  // Neither the variables nor the descriptors go further.
  const auto environment =
      ReadRegularFile("/proc/" + std::to_string(seat->pid()) + "/environ", MiB(1));
  ASSERT_TRUE(environment.ok());
  EXPECT_EQ(environment->find("LISTEN_"), std::string::npos);
}

TEST_F(Activation, Sok08SocketsForAnotherProcessAreIgnored) {
  const UniqueFd web = Listener();
  const UniqueFd admin = Listener();
  Start(web.get(), admin.get(), "1");
  auto seat = keeper_.NextSeat();
  ASSERT_NE(seat, nullptr);
  seat->Connect();
  EXPECT_TRUE(seat->inheritance().held.empty());
  const auto environment =
      ReadRegularFile("/proc/" + std::to_string(seat->pid()) + "/environ", MiB(1));
  ASSERT_TRUE(environment.ok());
  EXPECT_EQ(environment->find("LISTEN_"), std::string::npos);
}

TEST_F(Activation, Sok08FileInASocketsPlaceIsAStartError) {
  const UniqueFd web = Listener();
  const UniqueFd file(open("/etc/passwd", O_RDONLY | O_CLOEXEC));
  Start(web.get(), file.get(), "$$");
  const auto ended = keeper_.process().WaitUntilEnded();
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->exit_code, 1);
}

}  // namespace
}  // namespace cohost::supervisor
