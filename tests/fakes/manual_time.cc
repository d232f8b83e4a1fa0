// SPDX-License-Identifier: Apache-2.0
#include "tests/fakes/manual_time.h"

#include <algorithm>

namespace cohost::supervisor {

Timers::Id ManualTime::After(absl::Duration delay, std::function<void()> fire) {
  const Id id = ++last_id_;
  timers_.emplace(std::make_pair(now_ + std::max(delay, absl::ZeroDuration()), id),
                  std::move(fire));
  return id;
}

void ManualTime::Cancel(Id id) {
  std::erase_if(timers_, [id](const auto& timer) { return timer.first.second == id; });
}

bool ManualTime::RunDue() {
  // What is started meanwhile waits for the next call, as it would for the next turn of a loop.
  const Id last = last_id_;
  bool fired = false;
  for (;;) {
    const auto due = std::find_if(timers_.begin(), timers_.end(), [&](const auto& timer) {
      return timer.first.first <= now_ && timer.first.second <= last;
    });
    if (due == timers_.end()) return fired;
    const std::function<void()> fire = std::move(due->second);
    timers_.erase(due);
    fire();
    fired = true;
  }
}

absl::Duration ManualTime::UntilNext() const {
  if (timers_.empty()) return absl::InfiniteDuration();
  return std::max(absl::ZeroDuration(), timers_.begin()->first.first - now_);
}

}  // namespace cohost::supervisor
