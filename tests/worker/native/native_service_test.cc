// SPDX-License-Identifier: Apache-2.0
#include "worker/native/native_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "tests/worker/native/native_harness.h"

namespace cohost::worker::native {
namespace {

using ::testing::HasSubstr;

TEST(NativeService, LivesFromStartToDestroy) {
  NativeHarness harness;
  HostedService& service = harness.MustStart("probe");
  EXPECT_EQ(service.dispatch(), Dispatch::kPool);
  EXPECT_EQ(harness.Get(service, "/nothing").status, 404u);
  EXPECT_TRUE(harness.Drain(service));
  EXPECT_TRUE(harness.Stop(service));
  const std::string log = harness.LogText();
  const size_t drained = log.find("drained");
  const size_t stopped = log.find("stopped");
  const size_t destroyed = log.find("destroyed");
  EXPECT_LT(drained, stopped);
  EXPECT_LT(stopped, destroyed);
  EXPECT_NE(destroyed, std::string::npos);
  EXPECT_THAT(log, HasSubstr("\"service\":\"test\""));
}

TEST(NativeService, FlagsSayWhereRequestsRun) {
  NativeHarness harness;
  EXPECT_EQ(harness.MustStart("probe_inline").dispatch(), Dispatch::kInline);
  EXPECT_EQ(harness.MustStart("probe_serial").dispatch(), Dispatch::kSerial);
  EXPECT_EQ(harness.MustStart("probe_blocking").dispatch(), Dispatch::kPool);
}

TEST(NativeService, AModuleThatCannotBeLoadedFailsWithItsReason) {
  NativeHarness harness;
  const auto service = harness.Start(NativeHarness::Describe("odd_major"));
  EXPECT_THAT(std::string(service.status().message()), HasSubstr("odd_major.so: built for major"));
}

TEST(NativeService, AnExceptionInTheConstructorFailsTheStart) {
  NativeHarness harness;
  NativeServiceDescription description = NativeHarness::Describe("probe");
  description.settings = {{"fail", "create"}};
  const auto service = harness.Start(description);
  EXPECT_THAT(std::string(service.status().message()), HasSubstr("create answered"));
  EXPECT_THAT(harness.LogText(), HasSubstr("create failed as asked"));
}

TEST(NativeService, AFailedStartIsDestroyedAndTellsTheModulesWords) {
  NativeHarness harness;
  NativeServiceDescription description = NativeHarness::Describe("probe");
  description.settings = {{"fail", "start"}};
  const auto service = harness.Start(description);
  EXPECT_EQ(service.status().message(), "start failed as asked");
  EXPECT_THAT(harness.LogText(), HasSubstr("destroyed"));
}

TEST(NativeService, AFailedServiceLeavesItsNeighbourAlone) {
  NativeHarness harness;
  HostedService& neighbour = harness.MustStart("probe");
  EXPECT_FALSE(harness.Start(NativeHarness::Describe("odd_undefined")).ok());
  EXPECT_EQ(harness.Get(neighbour, "/tid").status, 200u);
}

TEST(NativeService, ASecondServiceOfASingleModuleIsRefused) {
  NativeHarness harness;
  HostedService& first = harness.MustStart("odd_single");
  const auto second = harness.Start(NativeHarness::Describe("odd_single"));
  EXPECT_THAT(std::string(second.status().message()), HasSubstr("one service per worker"));
  EXPECT_TRUE(harness.Stop(first));
  EXPECT_TRUE(harness.Start(NativeHarness::Describe("odd_single")).ok());
}

TEST(NativeService, ModulesOfOtherHeadersAreServed) {
  NativeHarness harness;
  for (const char* module : {"odd_old", "odd_new"}) {
    HostedService& service = harness.MustStart(module);
    EXPECT_EQ(harness.Get(service, "/").body, "served") << module;
    EXPECT_TRUE(service.Health().healthy) << module;
  }
}

TEST(NativeService, HealthIsTheModulesOwn) {
  NativeHarness harness;
  EXPECT_TRUE(harness.MustStart("probe").Health().healthy);
  NativeServiceDescription description = NativeHarness::Describe("probe");
  description.settings = {{"sick", "the database is away"}};
  const HealthAnswer answer = (*harness.Start(description))->Health();
  EXPECT_FALSE(answer.healthy);
  EXPECT_EQ(answer.reason, "the database is away");
}

TEST(NativeService, AnExceptionInHandleIsAnsweredWith500) {
  NativeHarness harness;
  HostedService& service = harness.MustStart("probe");
  EXPECT_EQ(harness.Get(service, "/throw").status, 500u);
  EXPECT_EQ(harness.Get(service, "/tid").status, 200u);
  // Stop waits until the handler has left the module, and so has logged.
  EXPECT_TRUE(harness.Stop(service));
  EXPECT_THAT(harness.LogText(), HasSubstr("thrown by Handle"));
}

TEST(NativeService, StoppingLetsTasksRunAndCancelsTimers) {
  NativeHarness harness;
  HostedService& service = harness.MustStart("probe");
  EXPECT_EQ(harness.Get(service, "/forever").body, "ok");
  EXPECT_EQ(service.timers(), 1u);
  EXPECT_TRUE(harness.Drain(service));
  EXPECT_TRUE(harness.Stop(service));
  EXPECT_EQ(service.timers(), 0u);
}

TEST(NativeService, ARequestThatTheModuleStillHoldsIsGoneAfterStop) {
  NativeHarness harness;
  HostedService& service = harness.MustStart("plain_c");
  FakeRequest request;
  request.target = "/hold";
  const auto held = harness.Send(service, request);
  // Until the module has it.
  while (service.Health().healthy) std::this_thread::yield();
  harness.Cancel(service, *held, CancelReason::kRemoved);
  EXPECT_TRUE(harness.Stop(service));
  EXPECT_FALSE(held->answer().complete);
}

}  // namespace
}  // namespace cohost::worker::native
