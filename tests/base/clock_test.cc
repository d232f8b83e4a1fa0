// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"

#include "absl/time/clock.h"
#include "gtest/gtest.h"

namespace cohost {
namespace {

TEST(SteadyTime, AddsAndSubtracts) {
  const SteadyTime time{1'000'000'000};
  EXPECT_EQ((time + absl::Seconds(2)).nanoseconds, 3'000'000'000);
  EXPECT_EQ((time + absl::Seconds(2)) - time, absl::Seconds(2));
  EXPECT_EQ(time - (time + absl::Milliseconds(1)), -absl::Milliseconds(1));
  EXPECT_LT(time, time + absl::Nanoseconds(1));
}

TEST(SystemClock, SteadyNeverGoesBack) {
  SteadyTime last = SystemClock().Steady();
  EXPECT_GT(last.nanoseconds, 0);
  for (int i = 0; i < 1000; ++i) {
    const SteadyTime now = SystemClock().Steady();
    EXPECT_GE(now, last);
    last = now;
  }
}

TEST(SystemClock, WallIsNow) {
  EXPECT_LT(absl::AbsDuration(SystemClock().Wall() - absl::Now()), absl::Seconds(10));
}

}  // namespace
}  // namespace cohost
