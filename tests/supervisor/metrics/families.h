// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/metrics/family.h"

namespace cohost::supervisor {

// Null when there is none of that name.
inline const prometheus::MetricFamily* FindFamily(const Families& families, std::string_view name) {
  const auto found = std::find_if(families.begin(), families.end(),
                                  [&](const auto& family) { return family.name == name; });
  return found == families.end() ? nullptr : &*found;
}

// The value of the one series that has all of `labels`, written "name=value"; unset when there is
// none, or more than one.
inline std::optional<double> ValueOf(const Families& families, std::string_view name,
                                     const std::vector<std::string>& labels = {}) {
  const prometheus::MetricFamily* const family = FindFamily(families, name);
  if (family == nullptr) return std::nullopt;
  std::optional<double> value;
  for (const auto& metric : family->metric) {
    const bool has_all = std::all_of(labels.begin(), labels.end(), [&](const std::string& label) {
      return std::any_of(metric.label.begin(), metric.label.end(),
                         [&](const auto& one) { return one.name + "=" + one.value == label; });
    });
    if (!has_all) continue;
    if (value.has_value()) return std::nullopt;
    value =
        family->type == prometheus::MetricType::Counter ? metric.counter.value : metric.gauge.value;
  }
  return value;
}

// Every family name once, and no two series of a family with the same labels: a page where that is
// not so is refused whole.
inline bool HasNothingTwice(const Families& families) {
  std::vector<std::string> seen;
  for (const auto& family : families) {
    seen.push_back(family.name);
    for (const auto& metric : family.metric) {
      std::string series = family.name + "{";
      for (const auto& label : metric.label) series += label.name + "=" + label.value + ",";
      seen.push_back(series);
    }
  }
  std::sort(seen.begin(), seen.end());
  return std::adjacent_find(seen.begin(), seen.end()) == seen.end();
}

}  // namespace cohost::supervisor
