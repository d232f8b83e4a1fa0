// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "supervisor/snapshot.h"

// Whether what a caller names is there: NOT_FOUND with the nearest name, or the names that there
// are, otherwise. Pure functions.
namespace cohost::supervisor {

absl::Status CheckService(const HostSnapshot& snapshot, const std::string& name);
absl::Status CheckGroup(const HostSnapshot& snapshot, const std::string& name,
                        std::optional<uint32_t> slot = std::nullopt);

}  // namespace cohost::supervisor
