// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <utility>

#include "base/clock.h"
#include "supervisor/loop/timers.h"

namespace cohost::supervisor {

// A clock that stands still until it is told to go on, and the timers of that clock: what is due
// fires in RunDue, in order of time. Single-threaded.
class ManualTime final : public Clock, public Timers {
 public:
  SteadyTime Steady() const override { return now_; }
  absl::Time Wall() const override {
    return absl::FromUnixSeconds(1'700'000'000) + (now_ - SteadyTime{});
  }

  Id After(absl::Duration delay, std::function<void()> fire) override;
  void Cancel(Id id) override;

  // Fires what is due now; false when nothing was.
  bool RunDue();
  // Moves the clock without firing anything.
  void Pass(absl::Duration duration) { now_ = now_ + duration; }
  // Until the next timer is due; infinite without any.
  absl::Duration UntilNext() const;

 private:
  SteadyTime now_{1'000'000'000'000};
  Id last_id_ = 0;
  std::map<std::pair<SteadyTime, Id>, std::function<void()>> timers_;
};

}  // namespace cohost::supervisor
