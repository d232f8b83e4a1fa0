// SPDX-License-Identifier: Apache-2.0
#include "supervisor/keeper/restart_policy.h"

#include "gtest/gtest.h"

namespace cohost::supervisor {
namespace {

TEST(RestartPolicy, FirstDeathCostsNothingThenDoublesUntilTheCap) {
  RestartPolicy policy;
  const int expected_ms[] = {0, 100, 200, 400, 800, 1600, 3200, 5000, 5000};
  for (const int milliseconds : expected_ms) {
    EXPECT_EQ(policy.DelayAfter(absl::Seconds(29)), absl::Milliseconds(milliseconds));
  }
}

TEST(RestartPolicy, LongLifeForgetsTheDeathsBefore) {
  RestartPolicy policy;
  for (int i = 0; i < 5; ++i) policy.DelayAfter(absl::ZeroDuration());
  EXPECT_EQ(policy.DelayAfter(absl::Seconds(30)), absl::ZeroDuration());
  EXPECT_EQ(policy.DelayAfter(absl::Seconds(1)), absl::Milliseconds(100));
}

}  // namespace
}  // namespace cohost::supervisor
