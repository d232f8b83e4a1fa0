// SPDX-License-Identifier: Apache-2.0
//
// Programs run by a real keeper.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "supervisor/modules/precompile/launcher_process_runner.h"
#include "tests/supervisor/keeper/keeper_harness.h"
#include "tests/support/wait.h"

namespace cohost::supervisor {
namespace {

class KeeperRun : public ::testing::Test {
 protected:
  KeeperRun() {
    keeper_.Start();
    seat_ = keeper_.NextSeat();
    seat_->Connect();
    runner_ = std::make_unique<LauncherProcessRunner>(seat_->loop(), seat_->client(), 0);
    seat_->client().OnExit([this](const ExitRecord& record) { runner_->HandleExit(record); });
  }

  absl::StatusOr<RunResult> Run(const std::string& command, absl::Duration limit = absl::Hours(1),
                                Bytes most_output = KiB(64)) {
    auto run = std::async(std::launch::async, [&] {
      return runner_->Run({.purpose = "sh",
                           .program = "/bin/sh",
                           .arguments = {"-c", command},
                           .environment = {"PATH=/bin:/usr/bin", "GREETING=hello", mark_},
                           .limit = limit,
                           .most_output = most_output});
    });
    EXPECT_TRUE(seat_->RunUntil(
        [&] { return run.wait_for(std::chrono::seconds(0)) == std::future_status::ready; }));
    return run.get();
  }

  // Only of this test: runs beside each other have the same names.
  const std::string mark_ = "TEST_PROCESS=" + std::to_string(::getpid()) + ".";
  KeeperHarness keeper_;
  std::unique_ptr<Seat> seat_;
  std::unique_ptr<LauncherProcessRunner> runner_;
};

TEST_F(KeeperRun, OutputAndExitCodeComeBack) {
  const auto result = Run("echo $GREETING; echo problem >&2; exit 7");
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->exit_code, 7);
  EXPECT_EQ(result->output, "hello\nproblem\n");
  EXPECT_FALSE(result->output_cut);
}

TEST_F(KeeperRun, LongOutputIsCutAndDoesNotStopTheProgram) {
  const auto result = Run("head -c 3000000 /dev/zero; exit 5", absl::Hours(1), KiB(10));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->exit_code, 5);
  EXPECT_EQ(result->output.size(), KiB(10).count);
  EXPECT_TRUE(result->output_cut);
}

TEST_F(KeeperRun, ProgramsStandBehindWhatServes) {
  // The 19th field of stat is the nice value, the 41st the policy (3: batch).
  const auto result = Run("cut -d' ' -f19,41 /proc/self/stat");
  ASSERT_TRUE(result.ok()) << result.status();
  // From where this test stands, up to the last.
  const int nice = std::min(::getpriority(PRIO_PROCESS, 0) + 19, 19);
  EXPECT_EQ(result->output, std::to_string(nice) + " 3\n");
}

TEST_F(KeeperRun, NothingIsLeftOfAProgramThatTakesTooLong) {
  const auto result = Run("sleep 1000 & sleep 1000", absl::Milliseconds(300));
  EXPECT_EQ(result.status().code(), absl::StatusCode::kDeadlineExceeded) << result.status();
  EXPECT_TRUE(ProcessesMarked("run/0/sh-1").empty());
}

TEST_F(KeeperRun, WhatAProgramLeavesBehindEndsWithIt) {
  const auto result = Run("sleep 1000 & echo started");
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->output, "started\n");
  EXPECT_TRUE(ProcessesMarked("run/0/sh-1").empty());
}

TEST_F(KeeperRun, AMissingProgramIsAnError) {
  auto run = std::async(std::launch::async, [&] {
    return runner_->Run({.purpose = "none", .program = "/nonexistent", .low_priority = false});
  });
  ASSERT_TRUE(seat_->RunUntil(
      [&] { return run.wait_for(std::chrono::seconds(0)) == std::future_status::ready; }));
  EXPECT_EQ(run.get().status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace cohost::supervisor
