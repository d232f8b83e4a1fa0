// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "absl/time/time.h"
#include "base/clock.h"

namespace cohost {

// A clock that stands still until it is told otherwise. Thread-safe.
class FakeClock final : public Clock {
 public:
  SteadyTime Steady() const override { return {now_.load()}; }
  absl::Time Wall() const override {
    return absl::FromUnixSeconds(1'800'000'000) + absl::Nanoseconds(now_.load());
  }
  void Advance(absl::Duration duration) { now_.fetch_add(absl::ToInt64Nanoseconds(duration)); }

 private:
  std::atomic<int64_t> now_{1'000'000'000'000};
};

}  // namespace cohost
