// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "prometheus/client_metric.h"
#include "prometheus/metric_family.h"
#include "supervisor/metrics/names.h"

// Building prometheus-cpp's plain families.
namespace cohost::supervisor {

using Families = std::vector<prometheus::MetricFamily>;
using Labels = std::vector<prometheus::ClientMetric::Label>;

// Longest value of a label; a longer one is cut. Names of a deployment are far below.
inline constexpr size_t kLongestLabel = 256;

// One family without series.
prometheus::MetricFamily MakeFamily(const MetricName& name);

// A label whose value is well-formed UTF-8 and bounded, whatever `value` is.
prometheus::ClientMetric::Label MakeLabel(std::string_view name, std::string_view value);

// Adds one series of a counter or a gauge.
void AddValue(prometheus::MetricFamily& family, Labels labels, double value);

// A family of one series without labels.
void AddSingle(Families& families, const MetricName& name, double value);

}  // namespace cohost::supervisor
