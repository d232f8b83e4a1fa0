// SPDX-License-Identifier: Apache-2.0
#include "worker/native/host/metric_table.h"

#include <gtest/gtest.h>

#include <cmath>

namespace cohost::worker::native {
namespace {

TEST(MetricTable, KeepsCountersAndGauges) {
  MetricTable table;
  cohost_metric hits = 0;
  cohost_metric level = 0;
  ASSERT_EQ(table.Register("hits", COHOST_COUNTER, &hits), COHOST_OK);
  ASSERT_EQ(table.Register("level", COHOST_GAUGE, &level), COHOST_OK);
  EXPECT_EQ(table.Add(hits, 2), COHOST_OK);
  EXPECT_EQ(table.Add(hits, 0.5), COHOST_OK);
  EXPECT_EQ(table.Set(level, -3), COHOST_OK);
  const std::vector<ModuleMetricValue> values = table.Values();
  ASSERT_EQ(values.size(), 2u);
  EXPECT_EQ(values[0].name, "hits");
  EXPECT_TRUE(values[0].is_counter);
  EXPECT_EQ(values[0].value, 2.5);
  EXPECT_EQ(values[1].value, -3);
}

TEST(MetricTable, ANameIsOneMetric) {
  MetricTable table;
  cohost_metric first = 0;
  cohost_metric second = 7;
  ASSERT_EQ(table.Register("hits", COHOST_COUNTER, &first), COHOST_OK);
  ASSERT_EQ(table.Register("hits", COHOST_COUNTER, &second), COHOST_OK);
  EXPECT_EQ(first, second);
  EXPECT_EQ(table.Register("hits", COHOST_GAUGE, &second), COHOST_INVALID);
}

TEST(MetricTable, TakesSixteenAndCountsTheRest) {
  MetricTable table;
  cohost_metric metric = 0;
  for (int i = 0; i < 20; ++i) {
    const std::string name = "m_" + std::to_string(i);
    EXPECT_EQ(table.Register(name, COHOST_GAUGE, &metric), i < 16 ? COHOST_OK : COHOST_LIMIT);
  }
  EXPECT_EQ(table.dropped(), 4u);
  EXPECT_EQ(table.Values().size(), 16u);
}

TEST(MetricTable, NamesThatWouldSpoilAPageAreRefused) {
  MetricTable table;
  cohost_metric metric = 0;
  for (const char* name : {"", "Hits", "1hit", "a-b", "a\nb", "a\"", "\xc3\xa4"}) {
    EXPECT_EQ(table.Register(name, COHOST_COUNTER, &metric), COHOST_INVALID) << name;
  }
  EXPECT_EQ(table.Register(std::string(65, 'a'), COHOST_COUNTER, &metric), COHOST_INVALID);
  EXPECT_EQ(table.Register("a", 9, &metric), COHOST_INVALID);
}

TEST(MetricTable, ACounterNeverFalls) {
  MetricTable table;
  cohost_metric hits = 0;
  ASSERT_EQ(table.Register("hits", COHOST_COUNTER, &hits), COHOST_OK);
  EXPECT_EQ(table.Add(hits, -1), COHOST_INVALID);
  EXPECT_EQ(table.Add(hits, std::nan("")), COHOST_INVALID);
  EXPECT_EQ(table.Set(hits, 1), COHOST_INVALID);
  EXPECT_EQ(table.Add(99, 1), COHOST_INVALID);
  EXPECT_EQ(table.Values()[0].value, 0);
}

}  // namespace
}  // namespace cohost::worker::native
