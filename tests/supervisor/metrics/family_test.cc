// SPDX-License-Identifier: Apache-2.0
#include "supervisor/metrics/family.h"

#include <string>

#include "base/valid_utf8.h"
#include "gtest/gtest.h"

namespace cohost::supervisor {
namespace {

TEST(MakeLabel, AValueIsWellFormedAndBoundedWhateverItIs) {
  std::string accents;
  std::string euros;
  for (int i = 0; i < 300; ++i) {
    accents += "\xc3\xa9";
    euros += "\xe2\x82\xac";
  }
  for (const std::string& value :
       {std::string(1000, 'x'), std::string(1000, '\xff'), accents, "x" + accents, euros,
        "xx" + euros, std::string(255, 'x') + "\xe2\x82\xac", std::string(1 << 20, '\xc3'),
        std::string(300, '\0')}) {
    const auto label = MakeLabel("service", value);
    EXPECT_EQ(label.name, "service");
    EXPECT_LE(label.value.size(), kLongestLabel);
    EXPECT_GE(label.value.size(), kLongestLabel - 3) << "no more is cut than must be";
    EXPECT_EQ(ValidUtf8(label.value), label.value);
  }
}

TEST(MakeLabel, WhatFitsIsLeftAsItIs) {
  for (const std::string& value : {std::string(), std::string("catalog"), std::string(256, 'x'),
                                   std::string("\xc3\xa9\n\"\\")}) {
    EXPECT_EQ(MakeLabel("service", value).value, value);
  }
}

TEST(MakeFamily, HasNameTypeAndHelpAndNoSeries) {
  const auto family = MakeFamily({"cohost_x_total", MetricKind::kCounter, "Help."});
  EXPECT_EQ(family.name, "cohost_x_total");
  EXPECT_EQ(family.help, "Help.");
  EXPECT_EQ(family.type, prometheus::MetricType::Counter);
  EXPECT_TRUE(family.metric.empty());
  EXPECT_EQ(MakeFamily({"x", MetricKind::kGauge, ""}).type, prometheus::MetricType::Gauge);
  EXPECT_EQ(MakeFamily({"x", MetricKind::kHistogram, ""}).type, prometheus::MetricType::Histogram);
}

TEST(AddValue, WritesTheFieldOfTheFamilysType) {
  auto counter = MakeFamily({"c_total", MetricKind::kCounter, ""});
  AddValue(counter, {MakeLabel("a", "1"), MakeLabel("b", "2")}, 5);
  EXPECT_EQ(counter.metric.at(0).counter.value, 5);
  EXPECT_EQ(counter.metric.at(0).gauge.value, 0);
  EXPECT_EQ(counter.metric.at(0).label.at(1).name, "b");
  auto gauge = MakeFamily({"g", MetricKind::kGauge, ""});
  AddValue(gauge, {}, -1);
  EXPECT_EQ(gauge.metric.at(0).gauge.value, -1);
}

}  // namespace
}  // namespace cohost::supervisor
