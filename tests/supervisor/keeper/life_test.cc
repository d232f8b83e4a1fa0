// SPDX-License-Identifier: Apache-2.0
//
// The supervisor's life under a real cohostd: starts, deaths, hand-over, shutdown.

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include "base/system/file.h"
#include "base/system/pidfd.h"
#include "base/system/seqpacket.h"
#include "gtest/gtest.h"
#include "supervisor/process/process_stats.h"
#include "tests/supervisor/keeper/keeper_harness.h"

namespace cohost::supervisor {
namespace {

using testing::Eventually;

const HeldEntry* FindHeld(const Inheritance& inheritance, const std::string& name) {
  for (const HeldEntry& entry : inheritance.held) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

UniqueFd MemoryFile(const std::string& content) {
  UniqueFd fd(memfd_create("test", MFD_CLOEXEC));
  EXPECT_TRUE(WriteAll(fd.get(), content).ok());
  return fd;
}

std::string Content(const UniqueFd& fd) {
  std::string text(64, '\0');
  const ssize_t got = pread(fd.get(), text.data(), text.size(), 0);
  text.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
  return text;
}

// A shell that does `then` once the other end of `input` is closed. The input is borrowed.
ProcessSpec ReadsInput(const std::string& name, const UniqueFd& input, const std::string& then) {
  // A shell does not understand that its input is not ready.
  EXPECT_EQ(fcntl(input.get(), F_SETFL, 0), 0);
  ProcessSpec spec = Shell(name, "read line; " + then);
  spec.descriptors = {{0, input.get()}};
  return spec;
}

TEST(KeeperLife, FirstSupervisorInheritsNothing) {
  KeeperHarness keeper;
  keeper.Start({"shop.yaml", "--port-offset", "100", "--drain-limit=30s"});
  const auto seat = keeper.NextSeat();
  ASSERT_NE(seat, nullptr);
  EXPECT_EQ(seat->arguments(),
            (std::vector<std::string>{"shop.yaml", "--port-offset=100", "--drain-limit=30s"}));
  seat->Connect();
  EXPECT_EQ(seat->inheritance().supervisor_restarts, 0u);
  EXPECT_GT(seat->inheritance().keeper_start_ns, 0);
  EXPECT_TRUE(seat->inheritance().held.empty());
  EXPECT_TRUE(seat->inheritance().processes.empty());
}

TEST(KeeperLife, KilledSupervisorsSuccessorGetsEverythingBack) {
  KeeperHarness keeper;
  keeper.Start();
  auto first = keeper.NextSeat();
  ASSERT_NE(first, nullptr);
  first->Connect();
  const UniqueFd a = MemoryFile("a");
  const UniqueFd b = MemoryFile("b");
  ASSERT_TRUE(first->Hold("listener/x", "old", {b.get()}).ok());
  ASSERT_TRUE(first->Hold("listener/x", std::string("\0blob", 5), {a.get(), b.get()}).ok());
  ASSERT_TRUE(first->Hold("empty", "", {}).ok());
  ASSERT_TRUE(first->Hold("released", "", {a.get()}).ok());
  first->client().Release("released");
  const auto stays = first->Launch(Sleep("worker/stays"));
  ASSERT_TRUE(stays.ok()) << stays.status();
  // Ends while nobody is there to hear of it: its input closes with this end of the pair.
  auto input = MakeStreamPair();
  ASSERT_TRUE(input.ok());
  ASSERT_TRUE(first->Launch(ReadsInput("worker/ends", input->second, "exit 5")).ok());
  input->second.Reset();
  const pid_t old_pid = first->pid();
  ASSERT_EQ(kill(old_pid, SIGKILL), 0);
  input->first.Reset();

  auto second = keeper.NextSeat();
  ASSERT_NE(second, nullptr);
  EXPECT_NE(second->pid(), old_pid);
  ASSERT_TRUE(Eventually([] { return ProcessesMarked("worker/ends").empty(); }));
  second->Connect();
  const Inheritance& inheritance = second->inheritance();
  EXPECT_EQ(inheritance.supervisor_restarts, 1u);
  EXPECT_EQ(inheritance.held.size(), 2u);
  const HeldEntry* entry = FindHeld(inheritance, "listener/x");
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->blob, std::string("\0blob", 5));
  ASSERT_EQ(entry->descriptors.size(), 2u);
  EXPECT_EQ(Content(entry->descriptors[0]), "a");
  EXPECT_EQ(Content(entry->descriptors[1]), "b");
  EXPECT_EQ(FindHeld(inheritance, "released"), nullptr);

  ASSERT_TRUE(second->RunUntil([&] { return second->FindExit("worker/ends") != nullptr; }));
  EXPECT_EQ(second->FindExit("worker/ends")->exit_code, 5);
  ASSERT_EQ(inheritance.processes.size(), 1u);
  EXPECT_EQ(inheritance.processes[0].name, "worker/stays");
  EXPECT_EQ(inheritance.processes[0].pid, stays->pid);
  EXPECT_EQ(SignalPidfd(inheritance.processes[0].pidfd.get(), SIGKILL), 0);
  ASSERT_TRUE(second->RunUntil([&] { return second->FindExit("worker/stays") != nullptr; }));
}

TEST(KeeperLife, ExitRecordsComeAgainUntilAcknowledged) {
  KeeperHarness keeper;
  keeper.Start();
  auto first = keeper.NextSeat();
  ASSERT_NE(first, nullptr);
  first->Connect();
  ASSERT_TRUE(first->Launch(Shell("worker/told", "exit 1")).ok());
  ASSERT_TRUE(first->RunUntil([&] { return first->FindExit("worker/told") != nullptr; }));
  // Ends when its input does: then the test does not run the client any more.
  auto input = MakeStreamPair();
  ASSERT_TRUE(input.ok());
  ASSERT_TRUE(first->Launch(ReadsInput("worker/untold", input->second, "exit 2")).ok());
  ASSERT_TRUE(Eventually([] { return !ProcessesMarked("worker/untold").empty(); }));
  input->second.Reset();
  input->first.Reset();
  ASSERT_TRUE(Eventually([] { return ProcessesMarked("worker/untold").empty(); }));
  // The record waits in the socket, unread, when the supervisor dies.
  first->Tell("abort");
  auto second = keeper.NextSeat();
  ASSERT_NE(second, nullptr);
  second->Connect();
  ASSERT_TRUE(second->RunUntil([&] { return !second->exits().empty(); }));
  EXPECT_EQ(second->exits().size(), 1u);
  EXPECT_EQ(second->exits()[0].name, "worker/untold");
  EXPECT_EQ(second->exits()[0].exit_code, 2);
}

TEST(KeeperLife, ManyHeldEntriesAndDescriptorsAreHandedOver) {
  KeeperHarness keeper;
  keeper.Start();
  auto first = keeper.NextSeat();
  ASSERT_NE(first, nullptr);
  first->Connect();
  const UniqueFd file = MemoryFile("x");
  const std::string blob(4096, 'b');
  for (int i = 0; i < 300; ++i) {
    ASSERT_TRUE(first->Hold("listener/" + std::to_string(i), blob, {file.get()}).ok());
  }
  ASSERT_TRUE(first->Hold("many", "", std::vector<int>(64, file.get())).ok());
  first->Tell("abort");
  auto second = keeper.NextSeat();
  ASSERT_NE(second, nullptr);
  second->Connect();
  EXPECT_EQ(second->inheritance().held.size(), 301u);
  EXPECT_EQ(FindHeld(second->inheritance(), "many")->descriptors.size(), 64u);
}

TEST(KeeperLife, TooManyDescriptorsOrTooLongABlobAreRefused) {
  KeeperHarness keeper;
  keeper.Start();
  auto seat = keeper.NextSeat();
  ASSERT_NE(seat, nullptr);
  seat->Connect();
  const UniqueFd file = MemoryFile("x");
  EXPECT_EQ(seat->Hold("many", "", std::vector<int>(65, file.get())).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(seat->Hold("long", std::string(4097, 'b'), {}).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(KeeperLife, ConfigurationErrorAtTheFirstStartEndsTheKeeperWithItsCode) {
  for (const int code : {1, 2}) {
    KeeperHarness keeper;
    keeper.Start();
    auto seat = keeper.NextSeat();
    ASSERT_NE(seat, nullptr);
    seat->Tell("exit " + std::to_string(code));
    const auto ended = keeper.process().WaitUntilEnded();
    ASSERT_TRUE(ended.has_value());
    EXPECT_EQ(ended->exit_code, code);
  }
}

TEST(KeeperLife, AfterReadyTheSameExitCodeIsADeath) {
  KeeperHarness keeper;
  keeper.Start();
  auto first = keeper.NextSeat();
  ASSERT_NE(first, nullptr);
  first->Connect();
  first->client().ReportReady("{}");
  ASSERT_TRUE(first->Hold("after-ready", "", {}).ok());
  first->Tell("exit 1");
  auto second = keeper.NextSeat();
  ASSERT_NE(second, nullptr);
  second->Connect();
  EXPECT_NE(FindHeld(second->inheritance(), "after-ready"), nullptr);
}

TEST(KeeperLife, MissingSupervisorIsASystemError) {
  KeeperHarness keeper;
  keeper.Start({"--supervisor=/nowhere/cohost-supervisor"});
  const auto ended = keeper.process().WaitUntilEnded();
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->exit_code, 2);
}

TEST(KeeperLife, SupervisorThatBreaksTheProtocolIsReplacedAndNothingIsLost) {
  KeeperHarness keeper;
  keeper.Start();
  auto first = keeper.NextSeat();
  ASSERT_NE(first, nullptr);
  const UniqueFd socket = first->TakeSocket();
  ASSERT_TRUE(SendMessage(socket.get(), "neither magic nor version nor anything else").ok());
  auto second = keeper.NextSeat();
  ASSERT_NE(second, nullptr);
  second->Connect();
  EXPECT_EQ(second->inheritance().supervisor_restarts, 1u);
}

TEST(KeeperLife, ReadyLineGoesToTheDescriptorOnce) {
  KeeperHarness keeper;
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  testing::TestProcess::Options process;
  process.descriptors = {{7, write_end.get()}};
  keeper.Start({"--ready-fd=7"}, process);
  write_end.Reset();
  auto seat = keeper.NextSeat();
  ASSERT_NE(seat, nullptr);
  seat->Connect();
  seat->client().ReportReady(R"({"admin":"unix:/x"})");
  seat->client().ReportReady(R"({"second":true})");
  ASSERT_TRUE(testing::WaitReadable(read_end.get()));
  char text[200] = {};
  EXPECT_GT(read(read_end.get(), text, sizeof(text) - 1), 0);
  EXPECT_STREQ(text, "{\"admin\":\"unix:/x\"}\n");
  // End of file: neither the keeper nor a child has the descriptor any more.
  ASSERT_TRUE(testing::WaitReadable(read_end.get()));
  EXPECT_EQ(read(read_end.get(), text, sizeof(text)), 0);
}

class KeeperShutdown : public ::testing::Test {
 protected:
  void StartWith(const std::vector<std::string>& options) {
    keeper_.Start(options);
    seat_ = keeper_.NextSeat();
    ASSERT_NE(seat_, nullptr);
    seat_->Connect();
    seat_->client().OnShutdown([this] { ++asked_; });
    seat_->client().OnReload([this] { ++reloads_; });
    ASSERT_TRUE(seat_->Launch(Shell("worker/a", "trap '' TERM; sleep 1000 & sleep 1000")).ok());
  }
  int ExitCode() {
    const auto ended = keeper_.process().WaitUntilEnded();
    return ended.has_value() ? ended->exit_code.value_or(-1) : -2;
  }

  KeeperHarness keeper_;
  std::unique_ptr<Seat> seat_;
  int asked_ = 0;
  int reloads_ = 0;
};

TEST_F(KeeperShutdown, TermAsksTheSupervisorAndEndsWithItsCode) {
  StartWith({});
  ASSERT_TRUE(keeper_.process().Signal(SIGTERM));
  ASSERT_TRUE(seat_->RunUntil([&] { return asked_ == 1; }));
  seat_->client().ReportShutdownComplete(0);
  seat_->Tell("exit 0");
  EXPECT_EQ(ExitCode(), 0);
  EXPECT_TRUE(ProcessesMarked("worker/a").empty());
}

TEST_F(KeeperShutdown, SecondSignalEndsAtOnce) {
  StartWith({});
  ASSERT_TRUE(keeper_.process().Signal(SIGINT));
  ASSERT_TRUE(seat_->RunUntil([&] { return asked_ == 1; }));
  ASSERT_TRUE(keeper_.process().Signal(SIGTERM));
  EXPECT_EQ(ExitCode(), 0);
  EXPECT_TRUE(ProcessesMarked("worker/a").empty());
}

TEST_F(KeeperShutdown, DrainLimitEndsWhatIsLeftAndSaysSo) {
  StartWith({"--drain-limit=100ms"});
  ASSERT_TRUE(keeper_.process().Signal(SIGTERM));
  EXPECT_EQ(ExitCode(), 2);
  EXPECT_TRUE(ProcessesMarked("worker/a").empty());
}

TEST_F(KeeperShutdown, SupervisorThatDiesWhileDrainingIsReplacedAndAskedAgain) {
  StartWith({});
  ASSERT_TRUE(keeper_.process().Signal(SIGTERM));
  ASSERT_TRUE(seat_->RunUntil([&] { return asked_ == 1; }));
  seat_->Tell("abort");
  auto second = keeper_.NextSeat();
  ASSERT_NE(second, nullptr);
  second->Connect();
  int asked = 0;
  second->client().OnShutdown([&] { ++asked; });
  ASSERT_TRUE(second->RunUntil([&] { return asked == 1; }));
  second->client().ReportShutdownComplete(0);
  EXPECT_EQ(ExitCode(), 0);
}

TEST_F(KeeperShutdown, HupIsAReload) {
  StartWith({});
  ASSERT_TRUE(keeper_.process().Signal(SIGHUP));
  EXPECT_TRUE(seat_->RunUntil([&] { return reloads_ == 1; }));
}

// MEM: the keeper is the process that must not be taken for memory, so it has next to none.
TEST(KeeperMemory, StaysUnderHalfAMegabyteWithFiftyWorkersHeld) {
  KeeperHarness keeper;
  keeper.Start();
  auto seat = keeper.NextSeat();
  ASSERT_NE(seat, nullptr);
  seat->Connect();
  for (int i = 0; i < 50; ++i) {
    const std::string number = std::to_string(i);
    auto link = MakeSeqpacketPair();
    ASSERT_TRUE(link.ok());
    const UniqueFd segment = MemoryFile("segment");
    ASSERT_TRUE(seat->Launch(Sleep("worker/g/" + number)).ok());
    ASSERT_TRUE(seat->Hold("link/" + number, std::string(100, 'x'), {link->first.get()}).ok());
    ASSERT_TRUE(seat->Hold("segment/" + number, "", {segment.get()}).ok());
  }
  const auto stats = ProcessStats::Open(keeper.process().pid(), keeper.process().pidfd());
  ASSERT_TRUE(stats.ok()) << stats.status();
  const auto memory = stats->ReadMemory();
  ASSERT_TRUE(memory.ok()) << memory.status();
  RecordProperty("anonymous_bytes", std::to_string(memory->anonymous.count));
  RecordProperty("pss_bytes", std::to_string(memory->pss.count));
  EXPECT_LT(memory->anonymous.count, 500'000u);
  EXPECT_LT(memory->pss.count, 1'500'000u);
}

}  // namespace
}  // namespace cohost::supervisor
