// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "base/system/unique_fd.h"

namespace cohost::supervisor {

// A memfd of `size` zero bytes whose size nobody can change any more (F_SEAL_SHRINK, F_SEAL_GROW,
// F_SEAL_SEAL): a mapping of it never faults, whatever another holder does. `name` shows in
// /proc/PID/maps.
absl::StatusOr<UniqueFd> MakeSealedMemory(const std::string& name, size_t size);

// The size of a sealed memfd that somebody else handed over; INVALID_ARGUMENT for anything else.
absl::StatusOr<size_t> SealedMemorySize(int descriptor);

}  // namespace cohost::supervisor
