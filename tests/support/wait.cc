// SPDX-License-Identifier: Apache-2.0
#include "tests/support/wait.h"

#include <poll.h>

#include <algorithm>

#include "base/clock.h"

namespace cohost::testing {

bool WaitReadable(int fd, absl::Duration limit) {
  const SteadyTime deadline = SystemClock().Steady() + limit;
  while (true) {
    const absl::Duration left = std::max(deadline - SystemClock().Steady(), absl::ZeroDuration());
    pollfd readable{fd, POLLIN, 0};
    const int ready = poll(&readable, 1, static_cast<int>(absl::ToInt64Milliseconds(left)) + 1);
    if (ready > 0) return true;
    if (left == absl::ZeroDuration()) return false;
  }
}

bool Eventually(const std::function<bool()>& condition, absl::Duration limit) {
  const SteadyTime deadline = SystemClock().Steady() + limit;
  while (!condition()) {
    if (SystemClock().Steady() >= deadline) return condition();
    poll(nullptr, 0, 5);
  }
  return true;
}

}  // namespace cohost::testing
