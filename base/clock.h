// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>

#include "absl/time/time.h"

namespace cohost {

// A point of CLOCK_MONOTONIC, comparable between all processes of one boot. Limits, ages and timers
// use it, so a jump of the wall clock or a suspended machine expires nothing.
struct SteadyTime {
  // Nanoseconds of CLOCK_MONOTONIC; 0 means "not set".
  int64_t nanoseconds = 0;

  auto operator<=>(const SteadyTime&) const = default;
  friend SteadyTime operator+(SteadyTime time, absl::Duration duration) {
    return {time.nanoseconds + absl::ToInt64Nanoseconds(duration)};
  }
  friend absl::Duration operator-(SteadyTime a, SteadyTime b) {
    return absl::Nanoseconds(a.nanoseconds - b.nanoseconds);
  }
};

// What time it is. Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual SteadyTime Steady() const = 0;
  // For showing to people and for schedules only.
  virtual absl::Time Wall() const = 0;
};

// The system's clock; lives as long as the process.
const Clock& SystemClock();

}  // namespace cohost
