// SPDX-License-Identifier: Apache-2.0
#include "supervisor/metrics/names.h"

#include <string>

#include "gtest/gtest.h"

namespace cohost::supervisor {
namespace {

TEST(ModuleMetricName, ACountersNameEndsInTotal) {
  EXPECT_EQ(ModuleMetricName("hits", MetricKind::kCounter), "cohost_module_hits_total");
  EXPECT_EQ(ModuleMetricName("hits_total", MetricKind::kCounter), "cohost_module_hits_total");
  EXPECT_EQ(ModuleMetricName("entries", MetricKind::kGauge), "cohost_module_entries");
}

TEST(ModuleMetricName, AGaugeHasNoSuffixOfAnotherType) {
  for (const char* name : {"x_total", "x_count", "x_sum", "x_bucket"}) {
    EXPECT_FALSE(ModuleMetricName(name, MetricKind::kGauge)) << name;
  }
}

TEST(ModuleMetricName, WhatIsNoNameIsNone) {
  for (const std::string& name :
       {std::string(), std::string("9a"), std::string("A"), std::string("a-b"), std::string("a\n"),
        std::string("a{"), std::string("\xc3\xa9"), std::string(65, 'a')}) {
    EXPECT_FALSE(ModuleMetricName(name, MetricKind::kCounter)) << name;
  }
  EXPECT_TRUE(ModuleMetricName(std::string(64, 'a'), MetricKind::kCounter));
}

TEST(ModuleMetricName, NoModuleSpeaksForTheHost) {
  for (const char* name : {"store_bytes", "pss_bytes", "shared_bytes", "private_bytes", "processes",
                           "saved_bytes", "metric_conflicts"}) {
    EXPECT_FALSE(ModuleMetricName(name, MetricKind::kGauge)) << name;
  }
  EXPECT_FALSE(ModuleMetricName("metrics_dropped", MetricKind::kCounter));
}

}  // namespace
}  // namespace cohost::supervisor
