// SPDX-License-Identifier: Apache-2.0
#include "supervisor/metrics/family.h"

#include <utility>

#include "base/valid_utf8.h"

namespace cohost::supervisor {
namespace {

prometheus::MetricType TypeOf(MetricKind kind) {
  switch (kind) {
    case MetricKind::kCounter:
      return prometheus::MetricType::Counter;
    case MetricKind::kGauge:
      return prometheus::MetricType::Gauge;
    case MetricKind::kHistogram:
      return prometheus::MetricType::Histogram;
  }
  return prometheus::MetricType::Untyped;
}

}  // namespace

prometheus::MetricFamily MakeFamily(const MetricName& name) {
  prometheus::MetricFamily family;
  family.name = name.name;
  family.help = name.help;
  family.type = TypeOf(name.kind);
  return family;
}

prometheus::ClientMetric::Label MakeLabel(std::string_view name, std::string_view value) {
  prometheus::ClientMetric::Label label;
  label.name = name;
  // Cut first: a sequence that the cut breaks is replaced. Again after it, since what replaces a
  // byte has three.
  label.value = ValidUtf8(value.substr(0, kLongestLabel));
  label.value.resize(CutBefore(label.value, kLongestLabel));
  return label;
}

void AddValue(prometheus::MetricFamily& family, Labels labels, double value) {
  prometheus::ClientMetric& metric = family.metric.emplace_back();
  metric.label = std::move(labels);
  if (family.type == prometheus::MetricType::Counter) {
    metric.counter.value = value;
  } else {
    metric.gauge.value = value;
  }
}

void AddSingle(Families& families, const MetricName& name, double value) {
  AddValue(families.emplace_back(MakeFamily(name)), {}, value);
}

}  // namespace cohost::supervisor
