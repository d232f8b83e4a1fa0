// SPDX-License-Identifier: Apache-2.0
#include "worker/loop/timer_wheel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <vector>

namespace cohost::worker {
namespace {

std::vector<uint32_t> AdvanceTo(TimerWheel& wheel, uint64_t tick) {
  std::vector<uint32_t> due;
  wheel.Advance(tick, due);
  return due;
}

TEST(TimerWheel, IsDueAtItsTickAndNotBefore) {
  TimerWheel wheel(1000);
  for (const uint64_t delay : {1, 2, 255, 256, 257, 1000, 65536, 20'000'000}) {
    wheel.Insert(0, wheel.now() + delay);
    const uint64_t due = wheel.now() + delay;
    EXPECT_TRUE(AdvanceTo(wheel, due - 1).empty()) << delay;
    EXPECT_EQ(AdvanceTo(wheel, due), std::vector<uint32_t>{0}) << delay;
    EXPECT_EQ(wheel.size(), 0u);
  }
}

TEST(TimerWheel, WhatIsNotAfterNowIsDueWithTheNextTick) {
  TimerWheel wheel(50);
  wheel.Insert(1, 50);
  wheel.Insert(2, 3);
  EXPECT_EQ(wheel.NextTick(), 51u);
  EXPECT_EQ(AdvanceTo(wheel, 51).size(), 2u);
}

TEST(TimerWheel, ARemovedOneIsNeverDue) {
  TimerWheel wheel(0);
  wheel.Insert(1, 10);
  wheel.Insert(2, 10);
  wheel.Insert(3, 10);
  wheel.Remove(2);
  wheel.Remove(2);
  wheel.Remove(77);
  std::vector<uint32_t> due = AdvanceTo(wheel, 20);
  std::sort(due.begin(), due.end());
  EXPECT_EQ(due, (std::vector<uint32_t>{1, 3}));
}

TEST(TimerWheel, InsertingAgainMovesIt) {
  TimerWheel wheel(0);
  wheel.Insert(1, 10);
  wheel.Insert(1, 5000);
  EXPECT_EQ(wheel.size(), 1u);
  EXPECT_TRUE(AdvanceTo(wheel, 4999).empty());
  EXPECT_EQ(AdvanceTo(wheel, 5000).size(), 1u);
}

TEST(TimerWheel, HasNothingToWakeForWhenEmpty) {
  TimerWheel wheel(5);
  EXPECT_EQ(wheel.NextTick(), std::nullopt);
  wheel.Insert(1, 9);
  EXPECT_EQ(wheel.NextTick(), 9u);
  wheel.Remove(1);
  EXPECT_EQ(wheel.NextTick(), std::nullopt);
}

TEST(TimerWheel, WakesFewTimesForADistantTimer) {
  TimerWheel wheel(123);
  wheel.Insert(0, 30'000'000);
  int wakes = 0;
  for (std::vector<uint32_t> due; due.empty(); ++wakes) wheel.Advance(*wheel.NextTick(), due);
  EXPECT_EQ(wheel.now(), 30'000'000u);
  EXPECT_LE(wakes, 8);
}

TEST(TimerWheel, ADelayBeyondTheLastLevelIsKept) {
  TimerWheel wheel(0);
  wheel.Insert(0, ~uint64_t{0});
  EXPECT_TRUE(AdvanceTo(wheel, uint64_t{1} << 49).empty());
  EXPECT_EQ(wheel.size(), 1u);
}

// Against a plain ordered map, with random inserts, removals and steps of every size.
TEST(TimerWheel, AgreesWithAnOrderedMap) {
  std::mt19937_64 random(42);
  const uint64_t begin = 987'654'321;
  TimerWheel wheel(begin);
  std::map<uint32_t, uint64_t> expected;
  for (int round = 0; round < 20000; ++round) {
    const auto timer = static_cast<uint32_t>(random() % 500);
    if (random() % 4 == 0) {
      wheel.Remove(timer);
      expected.erase(timer);
    } else {
      const uint64_t due = wheel.now() + 1 + (random() >> (30 + random() % 34)) % 40'000'000;
      wheel.Insert(timer, due);
      expected[timer] = due;
    }
    if (random() % 3 != 0) continue;
    const uint64_t to = wheel.now() + (random() >> (34 + random() % 30)) % 1'000'000;
    std::vector<uint32_t> due = AdvanceTo(wheel, to);
    std::vector<uint32_t> want;
    for (auto entry = expected.begin(); entry != expected.end();) {
      if (entry->second <= to) {
        want.push_back(entry->first);
        entry = expected.erase(entry);
      } else {
        ++entry;
      }
    }
    std::sort(due.begin(), due.end());
    ASSERT_EQ(due, want) << "round " << round;
    ASSERT_EQ(wheel.size(), expected.size());
    ASSERT_EQ(wheel.NextTick().has_value(), !expected.empty());
  }
}

}  // namespace
}  // namespace cohost::worker
