// SPDX-License-Identifier: Apache-2.0
//
// The modules of tests/services answer as their first lines say, as long as their fault is not
// asked for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/worker/native/native_harness.h"

namespace cohost::worker::native {
namespace {

using ::testing::HasSubstr;
using Settings = std::vector<std::pair<std::string, std::string>>;

class Fixtures : public ::testing::Test {
 protected:
  HostedService& Start(const std::string& module, Settings settings = {}) {
    const absl::StatusOr<HostedService*> service = TryStart(module, std::move(settings));
    EXPECT_TRUE(service.ok()) << service.status().message();
    return **service;
  }
  absl::StatusOr<HostedService*> TryStart(const std::string& module, Settings settings) {
    NativeServiceDescription description;
    description.name = module;
    description.module_path = "tests/services/" + module + ".so";
    description.settings = std::move(settings);
    return harness_.Start(std::move(description));
  }
  NativeHarness harness_;
};

TEST_F(Fixtures, EchoAnswersProcessGenerationAndBuild) {
  const std::string self = std::to_string(::getpid()) + " 7 ";
  EXPECT_EQ(harness_.Get(Start("echo"), "/").body, self + "1\n");
  EXPECT_EQ(harness_.Get(Start("echo2"), "/").body, self + "2\n");
  EXPECT_EQ(
      harness_.Get(Start("echo", {{"build", "x"}, {"start_ms", "20"}, {"progress_ms", "5"}}), "/")
          .body,
      self + "x\n");
}

TEST_F(Fixtures, SlowHoldsNoThread) {
  HostedService& service = Start("slow", {{"ms", "1"}});
  EXPECT_EQ(harness_.Get(service, "/x").body, "after 1 ms\n");
  EXPECT_EQ(harness_.Get(service, "/x?ms=30").body, "after 30 ms\n");
}

TEST_F(Fixtures, CrashIsAliveUntilItIsAsked) {
  EXPECT_EQ(harness_.Get(Start("crash"), "/").body, "alive\n");
}

TEST_F(Fixtures, HangLeakAndHelloAnswer) {
  EXPECT_EQ(harness_.Get(Start("hang"), "/").body, "alive\n");
  EXPECT_EQ(harness_.Get(Start("leak", {{"limit_mb", "1"}}), "/").body, "leaking\n");
  EXPECT_EQ(harness_.Get(Start("hello"), "/").body, "Hello, World!\n");
}

TEST_F(Fixtures, NoiseCountsWhatItWrote) {
  HostedService& service = Start("noise", {{"bytes_per_second", "10000"}});
  while (std::stoul(harness_.Get(service, "/written").body) < 200) {
  }
  EXPECT_TRUE(harness_.Stop(service));
}

TEST_F(Fixtures, StubbornStopsOnlyWhenItIsToldTo) {
  EXPECT_EQ(harness_.Get(Start("stubborn", {{"block", "nothing"}}), "/").body, "stubborn\n");
  ::signal(SIGTERM, SIG_DFL);
}

TEST_F(Fixtures, KidsLeavesAGrandchild) {
  HostedService& service = Start("kids", {{"seconds", "1000"}, {"count", "2"}, {"memory_mb", "1"}});
  const std::string pids = harness_.Get(service, "/").body;
  const size_t second = pids.find('\n') + 1;
  for (const pid_t pid : {std::stoi(pids), std::stoi(pids.substr(second))}) {
    EXPECT_NE(::getsid(pid), ::getsid(0));
    EXPECT_EQ(::kill(pid, SIGKILL), 0);
  }
}

TEST_F(Fixtures, StreamSendsPartsAndSendsBack) {
  HostedService& service = Start("stream");
  EXPECT_EQ(harness_.Get(service, "/?count=5&bytes=1000").body.size(), 5000u);
  FakeRequest request;
  request.method = "POST";
  request.body = std::nullopt;
  const auto exchange = harness_.Send(service, request);
  exchange->SendBody("one ");
  exchange->SendBody("two");
  exchange->EndBody();
  ASSERT_TRUE(exchange->WaitForEnd());
  EXPECT_EQ(exchange->answer().body, "one two");
}

TEST_F(Fixtures, FlockRunsOnceAtATime) {
  const Settings settings = {{"path", ::testing::TempDir() + "/flock"}};
  HostedService& first = Start("flock", settings);
  EXPECT_THAT(std::string(TryStart("flock", settings).status().message()), HasSubstr("is locked"));
  EXPECT_TRUE(harness_.Stop(first));
  EXPECT_TRUE(TryStart("flock", settings).ok());
}

}  // namespace
}  // namespace cohost::worker::native
