// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "supervisor/listen/listener.h"

namespace cohost::supervisor {

// The accept queue of a listener.
struct AcceptQueue {
  // In force: what was asked for after the kernel's cap (net.core.somaxconn of now).
  uint32_t backlog = 0;
  // Connections that wait to be accepted; unset where the kernel does not tell.
  std::optional<uint32_t> waiting;
};

// One or two system calls. Thread-safe.
absl::StatusOr<AcceptQueue> MeasureAcceptQueue(const Listener& listener);

}  // namespace cohost::supervisor
