// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "absl/time/time.h"
#include "base/units.h"

namespace cohost::worker {

// cohost.v1.ServiceLimits as plain values: meanings and defaults are described there.
struct ServiceLimits {
  uint32_t concurrency = 64;
  uint32_t queue = 256;
  absl::Duration request_timeout = absl::Seconds(30);
  Bytes header_bytes = KiB(16);
  Bytes body_bytes = MiB(8);
  absl::Duration header_timeout = absl::Seconds(10);
  absl::Duration io_timeout = absl::Seconds(30);
  absl::Duration idle_timeout = absl::Seconds(75);
  uint32_t connections = 1024;
};

}  // namespace cohost::worker
