// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/precompile/launcher_process_runner.h"

#include <unistd.h>

#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "boost/asio/io_context.hpp"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/fakes/process_launcher.h"
#include "tests/support/loop.h"
#include "tests/support/wait.h"

namespace cohost::supervisor {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

RunRequest Request() {
  return {.purpose = "test", .program = "/bin/true", .arguments = {"-x"}, .limit = absl::Hours(1)};
}

// This thread is the loop's; programs "run" on others.
class LauncherProcessRunnerTest : public ::testing::Test {
 protected:
  LauncherProcessRunnerTest() {
    launcher_.OnExit([this](const ExitRecord& record) {
      if (!runner_->HandleExit(record)) foreign_.push_back(record.name);
    });
  }

  std::future<absl::StatusOr<RunResult>> Start(RunRequest request = Request()) {
    return std::async(std::launch::async,
                      [this, request = std::move(request)] { return runner_->Run(request); });
  }
  bool Until(const std::function<bool()>& condition) {
    return testing::RunUntil(loop_, [&] {
      launcher_.RunCallbacks();
      return condition();
    });
  }
  template <typename T>
  bool UntilReady(std::future<T>& future) {
    return Until(
        [&] { return future.wait_for(std::chrono::seconds(0)) == std::future_status::ready; });
  }
  std::string Launched(size_t count = 1) {
    EXPECT_TRUE(Until([&] { return launcher_.launched().size() == count; }));
    return launcher_.launched().back().name;
  }

  boost::asio::io_context loop_;
  FakeProcessLauncher launcher_;
  std::vector<std::string> foreign_;
  std::unique_ptr<LauncherProcessRunner> runner_ =
      std::make_unique<LauncherProcessRunner>(loop_, launcher_, 3);
};

TEST_F(LauncherProcessRunnerTest, AnswersHowTheProgramEnded) {
  auto run = Start();
  const std::string name = Launched();
  EXPECT_TRUE(name.starts_with("run/3/test-")) << name;
  launcher_.EndWithExitCode(name, 3);
  ASSERT_TRUE(UntilReady(run));
  const auto result = run.get();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->exit_code, 3);
  EXPECT_EQ(result->signal, std::nullopt);

  auto killed = Start();
  ExitRecord record;
  record.name = Launched(2);
  record.signal = 9;
  record.out_of_memory = true;
  launcher_.End(record);
  ASSERT_TRUE(UntilReady(killed));
  const auto second = killed.get();
  EXPECT_EQ(second->signal, 9);
  EXPECT_TRUE(second->out_of_memory);
}

TEST_F(LauncherProcessRunnerTest, TheProgramIsStartedAsAsked) {
  RunRequest request = Request();
  request.environment = {"A=b"};
  request.identity.uid = 1234;
  request.memory = MiB(5);
  request.low_priority = false;
  auto run = Start(request);
  const std::string name = Launched();
  const ProcessSpec& spec = launcher_.launched()[0];
  EXPECT_EQ(spec.program, "/bin/true");
  EXPECT_THAT(spec.arguments, ::testing::ElementsAre("/bin/true", "-x"));
  EXPECT_THAT(spec.environment, ::testing::ElementsAre("A=b"));
  EXPECT_EQ(spec.identity.uid, 1234u);
  EXPECT_EQ(spec.limits.memory, MiB(5));
  ASSERT_THAT(spec.descriptors, SizeIs(2));
  launcher_.EndWithExitCode(name, 0);
  ASSERT_TRUE(UntilReady(run));
}

TEST_F(LauncherProcessRunnerTest, LowPriorityIsACommandThatEndsInTheProgram) {
  const std::vector<std::string> command = LowPriorityCommand("/bin/true", {"a b", "$(x)"});
  ASSERT_GE(command.size(), 3u);
  EXPECT_EQ(command[command.size() - 3], "/bin/true");
  EXPECT_EQ(command[command.size() - 2], "a b");
  EXPECT_EQ(command[command.size() - 1], "$(x)");
  if (::access("/usr/bin/nice", X_OK) == 0) {
    EXPECT_EQ(command[0], "/usr/bin/nice");
  }
}

TEST_F(LauncherProcessRunnerTest, AProgramThatCannotBeStartedIsAnError) {
  launcher_.FailLaunches(absl::NotFoundError("exec '/bin/true': No such file or directory"));
  auto run = Start();
  ASSERT_TRUE(UntilReady(run));
  EXPECT_EQ(run.get().status().code(), absl::StatusCode::kNotFound);
}

TEST_F(LauncherProcessRunnerTest, AProgramThatTakesTooLongIsKilled) {
  RunRequest request = Request();
  request.limit = absl::Milliseconds(20);
  auto run = Start(request);
  Launched();
  ASSERT_TRUE(UntilReady(run));
  EXPECT_EQ(run.get().status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(launcher_.RunningNames(), IsEmpty());
}

TEST_F(LauncherProcessRunnerTest, StopKillsAndCancelsNowAndLater) {
  auto a = Start();
  auto b = Start();
  Launched(2);
  runner_->Stop();
  ASSERT_TRUE(UntilReady(a) && UntilReady(b));
  EXPECT_EQ(a.get().status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(b.get().status().code(), absl::StatusCode::kCancelled);
  EXPECT_THAT(launcher_.RunningNames(), IsEmpty());
  auto late = Start();
  ASSERT_TRUE(UntilReady(late));
  EXPECT_EQ(late.get().status().code(), absl::StatusCode::kCancelled);
  EXPECT_THAT(launcher_.launched(), SizeIs(2));
}

TEST_F(LauncherProcessRunnerTest, StopFreesWhoTheLoopNeverCameTo) {
  auto run = Start();
  // The loop does not run, and what was posted to it stays there.
  ASSERT_TRUE(testing::Eventually([&] {
    runner_->Stop();
    return run.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }));
  EXPECT_EQ(run.get().status().code(), absl::StatusCode::kCancelled);
  EXPECT_THAT(launcher_.launched(), IsEmpty());
}

TEST_F(LauncherProcessRunnerTest, TakesExitsOfItsOwnAndOfAnEarlierSupervisorOnly) {
  ExitRecord record;
  record.name = "worker/steady-1/0/7";
  EXPECT_FALSE(runner_->HandleExit(record));
  record.name = "run/2/crossgen2-1";
  EXPECT_TRUE(runner_->HandleExit(record));
}

TEST_F(LauncherProcessRunnerTest, KillsWhatAnEarlierSupervisorLeft) {
  for (const std::string name : {"run/2/crossgen2-1", "worker/a/0/1"}) {
    ProcessSpec spec;
    spec.name = name;
    launcher_.Launch(std::move(spec), [](const absl::StatusOr<LaunchedProcess>&) {});
  }
  std::vector<RunningProcess> processes;
  for (const std::string& name : launcher_.RunningNames()) {
    processes.push_back({name, 1, UniqueFd()});
  }
  runner_->KillLeftovers(processes);
  EXPECT_TRUE(Until([&] { return launcher_.RunningNames().size() == 1; }));
  EXPECT_TRUE(launcher_.IsRunning("worker/a/0/1"));
}

TEST_F(LauncherProcessRunnerTest, PurposesThatAreNoNamesAreRefused) {
  for (const std::string purpose : {"", "a/b", "a b", "../x"}) {
    RunRequest request = Request();
    request.purpose = purpose;
    EXPECT_EQ(runner_->Run(request).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace cohost::supervisor
