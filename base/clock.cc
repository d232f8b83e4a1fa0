// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"

#include <time.h>

#include "absl/time/clock.h"

namespace cohost {
namespace {

class PosixClock final : public Clock {
 public:
  SteadyTime Steady() const override {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return {int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec};
  }
  absl::Time Wall() const override { return absl::Now(); }
};

}  // namespace

const Clock& SystemClock() {
  static const PosixClock clock;
  return clock;
}

}  // namespace cohost
