// SPDX-License-Identifier: Apache-2.0
#include "supervisor/ctl/quantity.h"

#include "gtest/gtest.h"

namespace cohost::supervisor {
namespace {

TEST(Quantity, CountsHaveGroupsOfThree) {
  EXPECT_EQ(FormatCount(0), "0");
  EXPECT_EQ(FormatCount(999), "999");
  EXPECT_EQ(FormatCount(1000), "1,000");
  EXPECT_EQ(FormatCount(1234567), "1,234,567");
  EXPECT_EQ(FormatCount(UINT64_MAX), "18,446,744,073,709,551,615");
}

TEST(Quantity, SpansHaveTwoDigitsAndTheLargestUnit) {
  EXPECT_EQ(FormatSpan(absl::ZeroDuration()), "0 us");
  EXPECT_EQ(FormatSpan(absl::Microseconds(500)), "500 us");
  EXPECT_EQ(FormatSpan(absl::Microseconds(1240)), "1.2 ms");
  EXPECT_EQ(FormatSpan(absl::Microseconds(9960)), "10 ms");
  EXPECT_EQ(FormatSpan(absl::Milliseconds(63)), "63 ms");
  EXPECT_EQ(FormatSpan(absl::Microseconds(999'900)), "1.0 s");
  EXPECT_EQ(FormatSpan(absl::Milliseconds(2350)), "2.4 s");
  EXPECT_EQ(FormatSpan(absl::Seconds(185)), "3m 5s");
  EXPECT_EQ(FormatSpan(absl::Minutes(125)), "2h 5m");
}

TEST(Quantity, AgesHaveAtMostTwoUnits) {
  google::protobuf::Timestamp time;
  const absl::Time now = absl::FromUnixSeconds(10'000'000);
  EXPECT_EQ(FormatAge(time, now), "");
  const auto age = [&](absl::Duration ago) {
    time.set_seconds(absl::ToUnixSeconds(now - ago));
    return FormatAge(time, now);
  };
  EXPECT_EQ(age(absl::Seconds(42)), "42s");
  EXPECT_EQ(age(absl::Seconds(185)), "3m");
  EXPECT_EQ(age(absl::Minutes(192)), "3h 12m");
  EXPECT_EQ(age(absl::Hours(122)), "5d 2h");
  EXPECT_EQ(age(-absl::Seconds(5)), "0s") << "the clock was set back";
}

}  // namespace
}  // namespace cohost::supervisor
