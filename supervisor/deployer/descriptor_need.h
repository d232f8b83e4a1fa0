// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"

// How many descriptors a deployment takes, so that one for which `ulimit -n` is too low is refused
// with the number that would do, instead of failing somewhere in the middle (PRC-09).
namespace cohost::supervisor {

// In the keeper or the supervisor, whichever has more: with every worker being replaced at once,
// and a reserve for admin calls, scrapes, the state and starts of processes.
uint64_t DescriptorsNeeded(size_t listeners, size_t workers);

// Of this process: RLIMIT_NOFILE.
uint64_t DescriptorLimit();

// FAILED_PRECONDITION naming the need and the limit when `limit` is too low.
absl::Status CheckDescriptorLimit(size_t listeners, size_t workers, uint64_t limit);

}  // namespace cohost::supervisor
