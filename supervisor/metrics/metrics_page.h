// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "supervisor/metrics/host_collectable.h"
#include "supervisor/snapshot.h"

namespace cohost::supervisor {

// The page of all metrics in text format 0.0.4. One thread at a time.
class MetricsPage {
 public:
  MetricsPage(HostCollectable::SnapshotSource source, std::string version);

  // Made once per snapshot: 1,000 services are 2.4 MB and 22 ms.
  std::shared_ptr<const std::string> Render();

 private:
  const HostCollectable::SnapshotSource source_;
  std::shared_ptr<const HostSnapshot> rendered_;
  std::shared_ptr<const std::string> page_;
  // Reads rendered_, so that page and key are of one snapshot.
  const HostCollectable collectable_;
};

}  // namespace cohost::supervisor
