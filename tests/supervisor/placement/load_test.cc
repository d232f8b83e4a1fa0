// SPDX-License-Identifier: Apache-2.0
#include "supervisor/placement/load.h"

#include "gtest/gtest.h"

namespace cohost::supervisor {
namespace {

LoadProfile Profile(double cpu, uint64_t mebibytes, int begin_hour = 0, int end_hour = 0) {
  LoadProfile profile;
  profile.cpu = cpu;
  profile.memory = MiB(mebibytes);
  if (begin_hour != end_hour) profile.peak = HoursOfDay{{begin_hour * 60}, {end_hour * 60}};
  return profile;
}

TEST(Load, CountsATenthOutsideOfThePeak) {
  const Load day(Profile(0.5, 1, 9, 18));
  const Load night(Profile(0.5, 1, 22, 6));
  EXPECT_DOUBLE_EQ(day.peak_cpu(), 0.5);
  EXPECT_DOUBLE_EQ((day + night).peak_cpu(), 0.55);
  EXPECT_DOUBLE_EQ((day + day).peak_cpu(), 1.0);
  EXPECT_EQ(day.PeakMicroCoresWith(night), 550'000u);
}

TEST(Load, SumsDoNotDependOnOrder) {
  Load forward;
  Load backward;
  for (int i = 0; i < 100; ++i) forward += Load(Profile(0.001 * i, i, i % 24, (i * 7 + 1) % 24));
  for (int i = 99; i >= 0; --i) backward += Load(Profile(0.001 * i, i, i % 24, (i * 7 + 1) % 24));
  EXPECT_EQ(forward.PeakMicroCores(), backward.PeakMicroCores());
  EXPECT_EQ(forward.memory(), backward.memory());
  EXPECT_EQ(forward.count(), 100u);
  forward -= backward;
  EXPECT_EQ(forward.PeakMicroCores(), 0u);
}

TEST(LoadLimits, NamesTheLimitThatIsExceeded) {
  const LoadLimits limits(2, MiB(10), 1.0);
  const Load small(Profile(0.1, 1));
  EXPECT_EQ(limits.Exceeded(small + small), LoadLimit::kNone);
  EXPECT_EQ(limits.Exceeded(small + small + small), LoadLimit::kServices);
  EXPECT_EQ(limits.Exceeded(Load(Profile(0.1, 11))), LoadLimit::kMemory);
  EXPECT_EQ(limits.Exceeded(Load(Profile(1.01, 1))), LoadLimit::kCpu);
  EXPECT_EQ(limits.Exceeded(Load(Profile(1.0, 10))), LoadLimit::kNone);
}

TEST(LoadLimits, FullnessIsThatOfTheFullest) {
  const LoadLimits limits(4, MiB(10), 2.0);
  EXPECT_DOUBLE_EQ(limits.Fullness(Load(Profile(0.1, 1))), 0.25);
  EXPECT_DOUBLE_EQ(limits.Fullness(Load(Profile(0.1, 5))), 0.5);
  EXPECT_DOUBLE_EQ(limits.Fullness(Load(Profile(1.5, 5))), 0.75);
}

TEST(LoadLimits, FullnessWithAgreesWithTheSum) {
  const LoadLimits limits(4, MiB(10), 2.0);
  const Load a(Profile(0.7, 3, 8, 12));
  const Load b(Profile(0.9, 2, 10, 14));
  ASSERT_TRUE(limits.FullnessWith(a, b, 1.1).has_value());
  EXPECT_DOUBLE_EQ(*limits.FullnessWith(a, b, 1.1), limits.Fullness(a + b));
  EXPECT_FALSE(limits.FullnessWith(a, b, limits.Fullness(a + b)).has_value());
  EXPECT_FALSE(limits.FullnessWith(a, Load(Profile(0.1, 8)), 9.0).has_value());
}

}  // namespace
}  // namespace cohost::supervisor
