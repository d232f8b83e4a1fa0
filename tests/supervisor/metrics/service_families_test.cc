// SPDX-License-Identifier: Apache-2.0
#include "supervisor/metrics/service_families.h"

#include <cmath>
#include <string>
#include <vector>

#include "base/valid_utf8.h"
#include "gtest/gtest.h"
#include "supervisor/metrics/names.h"
#include "tests/fakes/host_control.h"
#include "tests/supervisor/metrics/families.h"

namespace cohost::supervisor {
namespace {

class ServiceFamiliesTest : public ::testing::Test {
 protected:
  Families Services() const {
    Families families;
    AddServiceFamilies(host_, families);
    return families;
  }
  Families Modules() const {
    Families families;
    AddModuleFamilies(host_, families);
    return families;
  }

  // Services catalog, currency, invoices, orders, search.
  HostSnapshot host_ = SampleHost();
};

TEST_F(ServiceFamiliesTest, TheHistogramIsCumulativeAndItsCountIsTheLastBucket) {
  ServiceTotals& totals = host_.services[0].totals;
  totals.latency = {};
  totals.latency[0] = 3;
  totals.latency[4] = 2;
  totals.latency[kLatencyBuckets - 1] = 1;
  totals.latency_sum_ns = 2'500'000'000;
  // One that was read while it was counted: the page must agree with itself all the same.
  totals.finished = 7;
  const Families families = Services();
  const auto& histogram = FindFamily(families, kServiceDuration.name)->metric.at(0).histogram;
  ASSERT_EQ(histogram.bucket.size(), kLatencyBuckets);
  EXPECT_EQ(histogram.bucket[0].cumulative_count, 3U);
  EXPECT_EQ(histogram.bucket[3].cumulative_count, 3U);
  EXPECT_EQ(histogram.bucket[4].cumulative_count, 5U);
  EXPECT_EQ(histogram.bucket.back().cumulative_count, 6U);
  EXPECT_EQ(histogram.sample_count, 6U);
  EXPECT_TRUE(std::isinf(histogram.bucket.back().upper_bound));
  EXPECT_DOUBLE_EQ(histogram.sample_sum, 2.5);
  for (size_t i = 1; i < kLatencyBuckets; ++i) {
    EXPECT_LT(histogram.bucket[i - 1].upper_bound, histogram.bucket[i].upper_bound);
  }
}

TEST_F(ServiceFamiliesTest, EachCodeClassIsASeriesAlsoAtZero) {
  host_.services[0].totals.answered = {1, 0, 3, 4, 5, 6};
  const Families families = Services();
  for (const auto& [code_class, count] : std::vector<std::pair<std::string, double>>{
           {"none", 1}, {"1xx", 0}, {"2xx", 3}, {"3xx", 4}, {"4xx", 5}, {"5xx", 6}}) {
    EXPECT_EQ(
        ValueOf(families, kServiceRequests.name, {"service=catalog", "code_class=" + code_class}),
        count)
        << code_class;
  }
}

TEST_F(ServiceFamiliesTest, LimitsAreCountedByWhatTheyDid) {
  auto& hits = host_.services[0].totals.limit_hits;
  for (size_t i = 0; i < hits.size(); ++i) hits[i] = uint64_t{1} << i;
  const Families families = Services();
  const auto value = [&](const MetricName& name) {
    return ValueOf(families, name.name, {"service=catalog"});
  };
  EXPECT_EQ(value(kServiceQueueFull), 1);
  EXPECT_EQ(value(kServiceTimeouts), 2);
  EXPECT_EQ(value(kServiceRefused), 4 + 8 + 16 + 32);
}

TEST_F(ServiceFamiliesTest, OnlyInfoSaysWhereAServiceRuns) {
  for (const auto& family : Services()) {
    if (family.name == kServiceInfo.name) continue;
    for (const auto& metric : family.metric) {
      for (const auto& label : metric.label) {
        EXPECT_TRUE(label.name == "service" || label.name == "code_class") << family.name;
      }
    }
  }
  EXPECT_EQ(ValueOf(Services(), kServiceInfo.name,
                    {"service=orders", "group=front", "runtime=native", "revision=3"}),
            1);
}

TEST_F(ServiceFamiliesTest, HostileNamesAreLabelsThatCanBeRead) {
  host_.services[0].name = std::string(5000, '\xff');
  host_.services[1].name = "a\"} 1\ncohost_false_total 7";
  host_.services[1].metrics = {{"cars", true, 1}};
  Families families = Services();
  AddModuleFamilies(host_, families);
  EXPECT_TRUE(HasNothingTwice(families));
  for (const auto& family : families) {
    for (const auto& metric : family.metric) {
      for (const auto& label : metric.label) {
        EXPECT_LE(label.value.size(), kLongestLabel);
        EXPECT_EQ(ValidUtf8(label.value), label.value);
      }
    }
  }
}

TEST_F(ServiceFamiliesTest, ServicesShareAFamilyOfOneNameAndType) {
  host_.services[0].metrics = {{"cars", true, 1}, {"speed", false, 2.5}};
  host_.services[1].metrics = {{"cars_total", true, 3}};
  const Families families = Modules();
  EXPECT_EQ(ValueOf(families, "cohost_module_cars_total", {"service=catalog"}), 1);
  EXPECT_EQ(ValueOf(families, "cohost_module_cars_total", {"service=currency"}), 3);
  EXPECT_EQ(ValueOf(families, "cohost_module_speed", {"service=catalog"}), 2.5);
  EXPECT_EQ(ValueOf(families, kModuleMetricConflicts.name), 0);
  EXPECT_TRUE(HasNothingTwice(families));
}

TEST_F(ServiceFamiliesTest, WhatWouldSpoilThePageIsLeftOutAndCounted) {
  // The same series twice, and names that are none. Of two types for one name the first would win;
  // a counter's ends in _total, which no gauge's may, so they never meet.
  host_.services[0].metrics = {
      {"cars", true, 1}, {"cars_total", true, 2}, {"cars", true, 3},     {"bad name", true, 4},
      {"", false, 5},    {"x_total", false, 6},   {"x_bucket", false, 7}};
  host_.services[1].metrics = {{"cars", false, 8}};
  host_.services[0].metrics_dropped = 10;
  host_.services[4].metrics_dropped = 5;
  const Families families = Modules();
  EXPECT_TRUE(HasNothingTwice(families));
  EXPECT_EQ(ValueOf(families, "cohost_module_cars_total", {"service=catalog"}), 1);
  EXPECT_EQ(ValueOf(families, "cohost_module_cars", {"service=currency"}), 8);
  EXPECT_EQ(ValueOf(families, kModuleMetricConflicts.name), 6);
  EXPECT_EQ(ValueOf(families, kModuleMetricsDropped.name), 15);
}

TEST_F(ServiceFamiliesTest, AModuleCannotTakeANameOfTheHosts) {
  host_.services[0].metrics = {{"store_files", false, 1},          {"store_bytes", false, 2},
                               {"metric_conflicts", false, 3},     {"metrics_dropped", true, 4},
                               {"metrics_dropped_total", true, 5}, {"store_files", true, 6}};
  const Families families = Modules();
  EXPECT_TRUE(HasNothingTwice(families));
  EXPECT_EQ(FindFamily(families, kStoreFiles.name), nullptr);
  EXPECT_EQ(FindFamily(families, kStoreSize.name), nullptr);
  EXPECT_EQ(ValueOf(families, kModuleMetricsDropped.name), 0);
  EXPECT_EQ(ValueOf(families, kModuleMetricConflicts.name), 5);
  EXPECT_EQ(ValueOf(families, "cohost_module_store_files_total", {"service=catalog"}), 6);
}

}  // namespace
}  // namespace cohost::supervisor
