// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <random>

#include "absl/time/time.h"

namespace cohost::supervisor {

// How long to wait before a worker is started again: at once after the first failure, then doubling
// from kFirst to kCap, each with jitter so that slots that failed together do not retry together.
// It never gives up; when to stop trying is the group's rapid-fail policy, which asks failures().
// Loop thread only.
class RestartBackoff {
 public:
  static constexpr absl::Duration kFirst = absl::Milliseconds(250);
  static constexpr absl::Duration kCap = absl::Seconds(30);
  // A worker that was ready for so long has behaved well: its failure counts as a first one.
  static constexpr absl::Duration kGoodBehaviour = absl::Seconds(30);
  // A delay is at least the doubled value less this part, and never more than the doubled value.
  static constexpr double kJitter = 0.2;

  explicit RestartBackoff(uint64_t seed) : random_(seed) {}

  // The delay after a failure of a worker that had been ready for `ready_for` (zero: never).
  absl::Duration DelayAfterFailure(absl::Duration ready_for);
  // An operator's start: the next failure is a first one.
  void Reset() { failures_ = 0; }

  // In a row, without good behaviour between them.
  uint32_t failures() const { return failures_; }

 private:
  std::mt19937_64 random_;
  uint32_t failures_ = 0;
};

}  // namespace cohost::supervisor
