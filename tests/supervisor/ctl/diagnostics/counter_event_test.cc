// SPDX-License-Identifier: Apache-2.0
#include "supervisor/ctl/diagnostics/counter_event.h"

#include "gtest/gtest.h"
#include "tests/supervisor/ctl/diagnostics/nettrace_bytes.h"

namespace cohost::supervisor {
namespace {

TEST(CounterEvent, AnIncrementHasItsInterval) {
  const auto counter =
      ReadCounter(IncrementKind("System.Runtime"), IncrementPayload("alloc-rate", 8200, 0.5));
  ASSERT_TRUE(counter.has_value());
  EXPECT_EQ(counter->provider, "System.Runtime");
  EXPECT_EQ(counter->name, "alloc-rate");
  EXPECT_EQ(counter->display_name, "alloc-rate shown");
  EXPECT_EQ(counter->unit, "B");
  EXPECT_EQ(counter->value, 8200);
  EXPECT_EQ(counter->interval, 0.5);
  EXPECT_TRUE(counter->is_increment);
}

TEST(CounterEvent, AMeanIsTakenFromItsOwnField) {
  const EventKind kind{"P",
                       "EventCounters",
                       {{"Name", kStringType, {}},
                        {"Mean", kDoubleType, {}},
                        {"StandardDeviation", kDoubleType, {}},
                        {"Count", kInt32Type, {}},
                        {"Max", kDoubleType, {}}}};
  const auto counter =
      ReadCounter(kind, RawText("working-set") + Raw(1.5) + Raw(7.0) + Raw(uint32_t{1}) + Raw(9.0));
  ASSERT_TRUE(counter.has_value());
  EXPECT_EQ(counter->value, 1.5);
  EXPECT_FALSE(counter->is_increment);
}

TEST(CounterEvent, WhatIsNoCounterIsNone) {
  EventKind other = IncrementKind("P");
  other.name = "LogAppContextSwitch";
  EXPECT_FALSE(ReadCounter(other, IncrementPayload("x", 1, 1)).has_value());
  EventKind strange = IncrementKind("P");
  strange.fields[0].fields[0].fields[1].type = 99;
  EXPECT_FALSE(ReadCounter(strange, IncrementPayload("x", 1, 1)).has_value());
  EXPECT_FALSE(ReadCounter(IncrementKind("P"), IncrementPayload("", 1, 1)).has_value());
  const std::string whole = IncrementPayload("x", 1, 1);
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(ReadCounter(IncrementKind("P"), whole.substr(0, size)).has_value()) << size;
  }
}

}  // namespace
}  // namespace cohost::supervisor
