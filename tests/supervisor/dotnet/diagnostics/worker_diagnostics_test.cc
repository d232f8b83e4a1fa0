// SPDX-License-Identifier: Apache-2.0
//
// Dumps and traces of a runtime that tests/fakes has made up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "base/system/file.h"
#include "supervisor/dotnet/diagnostics/core_dump.h"
#include "supervisor/dotnet/diagnostics/trace_session.h"
#include "tests/fakes/diagnostics_server.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/wait.h"

namespace cohost::supervisor {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr absl::Duration kLimit = absl::Seconds(20);
constexpr absl::Duration kSoon = absl::Milliseconds(50);

class WorkerDiagnosticsTest : public ::testing::Test {
 protected:
  WorkerDiagnosticsTest() : interrupt_(*Interrupt::Create()) {}

  DiagnosticsPort port() const { return {"steady-1/0", folder_.path(), ::getpid()}; }
  absl::StatusOr<UniqueFd> Dump(absl::Duration limit = kLimit) {
    return TakeCoreDump(port(), DumpKind::kHeap, dumps(), limit, interrupt_);
  }
  std::string dumps() const { return folder_ / "dumps"; }
  bool DumpsAreGone() const { return std::filesystem::is_empty(dumps()); }
  absl::StatusOr<TraceSession> Trace() {
    TraceOptions options;
    options.providers = {{"System.Runtime", 0, 4, "EventCounterIntervalSec=1"}};
    return TraceSession::Start(port(), options, interrupt_);
  }

  testing::TemporaryFolder folder_;
  Interrupt interrupt_;
};

std::string ContentOf(const UniqueFd& file) {
  std::string content(1000, '\0');
  const absl::StatusOr<size_t> size = ReadAt(file.get(), 0, content.data(), content.size());
  content.resize(size.value_or(0));
  return content;
}

TEST_F(WorkerDiagnosticsTest, ADumpIsHandedOverWithoutAName) {
  FakeDiagnosticsServer server(folder_.path());
  server.set_dump("memory");
  const auto dump = Dump();
  ASSERT_TRUE(dump.ok()) << dump.status();
  EXPECT_EQ(ContentOf(*dump), "memory");
  EXPECT_TRUE(DumpsAreGone());
  struct stat info {};
  ASSERT_EQ(::fstat(dump->get(), &info), 0);
  EXPECT_EQ(info.st_nlink, 0u);
}

TEST_F(WorkerDiagnosticsTest, ADumpThatFailsSaysWhyAndLeavesNothing) {
  FakeDiagnosticsServer server(folder_.path());
  server.FailDumps("[createdump] Error writing data to dump file: No space left on device (28)\n");
  const absl::Status failed = Dump().status();
  EXPECT_TRUE(absl::IsAborted(failed));
  EXPECT_THAT(std::string(failed.message()),
              AllOf(HasSubstr("worker steady-1/0"), EndsWith("No space left on device (28)")));
  EXPECT_TRUE(DumpsAreGone());
}

TEST_F(WorkerDiagnosticsTest, WithoutASocketThereIsNoRuntime) {
  const absl::Status failed = Dump().status();
  EXPECT_TRUE(absl::IsFailedPrecondition(failed));
  EXPECT_THAT(std::string(failed.message()), HasSubstr("no diagnostics socket"));
  DiagnosticsPort elsewhere = port();
  elsewhere.folder += "/nowhere";
  EXPECT_TRUE(absl::IsFailedPrecondition(Connect(elsewhere).status()));
}

TEST_F(WorkerDiagnosticsTest, ASocketThatNobodyListensOnIsADeadWorkers) {
  FakeDiagnosticsServer server(folder_.path());
  server.Die();
  const absl::Status failed = Dump().status();
  EXPECT_TRUE(absl::IsAborted(failed));
  EXPECT_THAT(std::string(failed.message()), HasSubstr("has ended"));
}

TEST_F(WorkerDiagnosticsTest, ASocketOfAnotherProcessIsRefused) {
  const FakeDiagnosticsServer server(folder_.path());
  DiagnosticsPort other = port();
  other.pid = ::getppid();
  const std::string name = folder_ / absl::StrCat("dotnet-diagnostic-", other.pid, "-1-socket");
  std::filesystem::rename(server.socket_path(), name);
  const absl::Status failed = Connect(other).status();
  EXPECT_TRUE(absl::IsAborted(failed));
  EXPECT_THAT(std::string(failed.message()), HasSubstr("listens on the socket"));
}

TEST_F(WorkerDiagnosticsTest, ALinkIsNotTakenForTheSocket) {
  testing::TemporaryFolder elsewhere;
  const FakeDiagnosticsServer server(elsewhere.path());
  const std::string name = folder_ / absl::StrCat("dotnet-diagnostic-", ::getpid(), "-1-socket");
  std::filesystem::create_symlink(server.socket_path(), name);
  EXPECT_FALSE(Connect(port()).ok());
  std::filesystem::remove(name);
  std::filesystem::create_hard_link(server.socket_path(), name);
  EXPECT_TRUE(absl::IsAborted(Connect(port()).status()));
}

TEST_F(WorkerDiagnosticsTest, ARuntimeThatIsSilentIsWaitedForOnlySoLong) {
  FakeDiagnosticsServer server(folder_.path());
  server.set_mood(FakeDiagnosticsServer::Mood::kIsSilent);
  const absl::Status failed = Dump(kSoon).status();
  EXPECT_TRUE(absl::IsAborted(failed));
  EXPECT_THAT(std::string(failed.message()), HasSubstr("does not answer"));
  EXPECT_TRUE(DumpsAreGone());
}

TEST_F(WorkerDiagnosticsTest, ARuntimeThatHangsUpHasEnded) {
  FakeDiagnosticsServer server(folder_.path());
  server.set_mood(FakeDiagnosticsServer::Mood::kHangsUp);
  EXPECT_THAT(std::string(Dump().status().message()), HasSubstr("has ended"));
  EXPECT_THAT(std::string(Trace().status().message()), HasSubstr("has ended"));
}

TEST_F(WorkerDiagnosticsTest, AnInterruptEndsTheWaiting) {
  FakeDiagnosticsServer server(folder_.path());
  server.set_mood(FakeDiagnosticsServer::Mood::kIsSilent);
  std::thread later([&] {
    EXPECT_TRUE(testing::Eventually([&] { return !server.commands().empty(); }));
    interrupt_.Raise();
  });
  EXPECT_TRUE(absl::IsCancelled(Dump().status()));
  later.join();
}

TEST_F(WorkerDiagnosticsTest, ATraceStreamsUntilItIsStopped) {
  FakeDiagnosticsServer server(folder_.path());
  server.set_stream("begin;");
  auto session = Trace();
  ASSERT_TRUE(session.ok()) << session.status();
  std::string trace;
  while (trace.find("tick;") == std::string::npos) {
    const auto part = session->Read(1000, SystemClock().Steady() + kLimit, interrupt_);
    ASSERT_TRUE(part.ok()) << part.status();
    trace += *part;
  }
  const absl::Status stopped =
      session->Stop(kLimit, interrupt_, [&](const std::string& part) { trace += part; });
  EXPECT_TRUE(stopped.ok()) << stopped;
  EXPECT_THAT(trace, AllOf(StartsWith("begin;"), EndsWith("rundown;")));
  EXPECT_EQ(server.stopped(), 1u);
  EXPECT_EQ(server.streams(), 0u);
}

TEST_F(WorkerDiagnosticsTest, ATraceOfAWorkerThatDiesEnds) {
  FakeDiagnosticsServer server(folder_.path());
  auto session = Trace();
  ASSERT_TRUE(session.ok()) << session.status();
  server.Die();
  std::string last = "x";
  while (!last.empty()) {
    const auto part = session->Read(1000, SystemClock().Steady() + kLimit, interrupt_);
    ASSERT_TRUE(part.ok()) << part.status();
    last = *part;
  }
  EXPECT_TRUE(absl::IsAborted(session->Stop(kLimit, interrupt_, [](const std::string&) {})));
}

TEST_F(WorkerDiagnosticsTest, WhatASupervisorLeftIsRemovedByTheNext) {
  std::filesystem::create_directories(dumps() + "/abc");
  ASSERT_TRUE(WriteFileAtomically(dumps() + "/abc/core", "old", 0600).ok());
  RemoveLeftDumps(dumps());
  EXPECT_TRUE(DumpsAreGone());
  RemoveLeftDumps(folder_ / "nowhere");
}

}  // namespace
}  // namespace cohost::supervisor
