// SPDX-License-Identifier: Apache-2.0
#include "worker/native/native_runtime.h"

#include <gtest/gtest.h>

#include "tests/worker/native/native_harness.h"

namespace cohost::worker::native {
namespace {

TEST(NativeRuntime, ServicesOfOneModuleHaveTheirOwnSettings) {
  NativeHarness harness;
  NativeServiceDescription first = NativeHarness::Describe("probe");
  first.settings = {{"number", "1"}};
  NativeServiceDescription second = NativeHarness::Describe("probe");
  second.name = "second";
  second.settings = {{"number", "2"}};
  const auto one = harness.Start(first);
  const auto two = harness.Start(second);
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_EQ(harness.Get(**one, "/settings").body, "test 7 1");
  EXPECT_EQ(harness.Get(**two, "/settings").body, "second 7 2");
}

TEST(NativeRuntime, StoppingOneServiceOfAModuleLeavesTheOther) {
  NativeHarness harness;
  HostedService& first = harness.MustStart("probe");
  HostedService& second = harness.MustStart("probe");
  EXPECT_TRUE(harness.Stop(first));
  EXPECT_EQ(harness.Get(second, "/tid").status, 200u);
}

TEST(NativeRuntime, ManyServicesComeAndGo) {
  NativeHarness harness;
  for (int i = 0; i < 50; ++i) {
    HostedService& service = harness.MustStart(i % 2 == 0 ? "probe" : "plain_c");
    EXPECT_EQ(harness.Get(service, "/tid").status, 200u);
    EXPECT_TRUE(harness.Drain(service));
    EXPECT_TRUE(harness.Stop(service));
  }
}

}  // namespace
}  // namespace cohost::worker::native
