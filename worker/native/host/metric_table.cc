// SPDX-License-Identifier: Apache-2.0
#include "worker/native/host/metric_table.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace cohost::worker::native {
namespace {

constexpr size_t kLongestName = 64;

bool IsMetricName(std::string_view name) {
  const auto lower = [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; };
  const auto other = [&](char c) { return lower(c) || (c >= '0' && c <= '9'); };
  return !name.empty() && name.size() <= kLongestName && lower(name.front()) &&
         std::all_of(name.begin(), name.end(), other);
}

}  // namespace

cohost_status MetricTable::Register(std::string_view name, cohost_metric_kind kind,
                                    cohost_metric* metric) {
  if (!IsMetricName(name) || (kind != COHOST_COUNTER && kind != COHOST_GAUGE)) {
    return COHOST_INVALID;
  }
  MutexLock lock(registering_);
  const uint32_t count = count_.load(std::memory_order_relaxed);
  for (uint32_t i = 0; i < count; ++i) {
    if (metrics_[i].name != name) continue;
    if (metrics_[i].kind != kind) return COHOST_INVALID;
    *metric = i;
    return COHOST_OK;
  }
  if (count == kMaxMetrics) {
    dropped_.fetch_add(1, std::memory_order_relaxed);
    return COHOST_LIMIT;
  }
  metrics_[count].name = name;
  metrics_[count].kind = kind;
  count_.store(count + 1, std::memory_order_release);
  *metric = count;
  return COHOST_OK;
}

cohost_status MetricTable::Add(cohost_metric metric, double amount) {
  if (metric >= count_.load(std::memory_order_acquire) || !std::isfinite(amount)) {
    return COHOST_INVALID;
  }
  if (metrics_[metric].kind == COHOST_COUNTER && amount < 0) return COHOST_INVALID;
  metrics_[metric].value.fetch_add(amount, std::memory_order_relaxed);
  return COHOST_OK;
}

cohost_status MetricTable::Set(cohost_metric metric, double value) {
  if (metric >= count_.load(std::memory_order_acquire) || std::isnan(value) ||
      metrics_[metric].kind != COHOST_GAUGE) {
    return COHOST_INVALID;
  }
  metrics_[metric].value.store(value, std::memory_order_relaxed);
  return COHOST_OK;
}

std::vector<ModuleMetricValue> MetricTable::Values() const {
  std::vector<ModuleMetricValue> values;
  const uint32_t count = count_.load(std::memory_order_acquire);
  values.reserve(count);
  for (uint32_t i = 0; i < count; ++i) {
    values.push_back({metrics_[i].name, metrics_[i].kind == COHOST_COUNTER,
                      metrics_[i].value.load(std::memory_order_relaxed)});
  }
  return values;
}

}  // namespace cohost::worker::native
