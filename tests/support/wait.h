// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "absl/time/time.h"

namespace cohost::testing {

// How long a test waits for what must happen: generous, since a loaded machine is no failure.
inline constexpr absl::Duration kPatience = absl::Seconds(20);

// Whether `fd` becomes readable, or its other end closes, within `limit`.
bool WaitReadable(int fd, absl::Duration limit = kPatience);

// Whether `condition` becomes true within `limit`. For what has no event to wait for, like the
// state of other processes in /proc; asks every few milliseconds.
bool Eventually(const std::function<bool()>& condition, absl::Duration limit = kPatience);

}  // namespace cohost::testing
