// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "worker/sdk/cohost.h"
#include "worker/services/hosted_service.h"

namespace cohost::worker::native {

// The metrics that one service keeps of its own: a bounded number, so that no service can flood the
// scrape. Thread-safe; changing a value takes no lock.
class MetricTable {
 public:
  static constexpr uint32_t kMaxMetrics = 16;

  // As cohost_host.metric.
  cohost_status Register(std::string_view name, cohost_metric_kind kind, cohost_metric* metric);
  cohost_status Add(cohost_metric metric, double amount);
  cohost_status Set(cohost_metric metric, double value);

  std::vector<ModuleMetricValue> Values() const;
  // Metrics that were refused because there are kMaxMetrics.
  uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

 private:
  struct Metric {
    std::string name;
    cohost_metric_kind kind = 0;
    std::atomic<double> value{0};
  };

  // Name and kind are written before count_ covers the metric, and never again.
  std::array<Metric, kMaxMetrics> metrics_;
  std::atomic<uint32_t> count_{0};
  std::atomic<uint64_t> dropped_{0};
  Mutex registering_;
};

}  // namespace cohost::worker::native
