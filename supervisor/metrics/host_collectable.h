// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "prometheus/collectable.h"
#include "supervisor/metrics/worker_families.h"
#include "supervisor/snapshot.h"

namespace cohost::supervisor {

// All metrics of the host (names.h) from its newest snapshot. One thread at a time.
class HostCollectable final : public prometheus::Collectable {
 public:
  using SnapshotSource = std::function<std::shared_ptr<const HostSnapshot>()>;

  HostCollectable(SnapshotSource source, std::string version)
      : source_(std::move(source)), version_(std::move(version)) {}

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const SnapshotSource source_;
  const std::string version_;
  // Collecting is reading for prometheus-cpp; only here does it add up.
  mutable SlotCpu cpu_;
};

}  // namespace cohost::supervisor
