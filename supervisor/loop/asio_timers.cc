// SPDX-License-Identifier: Apache-2.0
#include "supervisor/loop/asio_timers.h"

#include <utility>

namespace cohost::supervisor {

Timers::Id AsioTimers::After(absl::Duration delay, std::function<void()> fire) {
  const Id id = ++last_id_;
  auto timer = std::make_unique<boost::asio::steady_timer>(loop_, absl::ToChronoNanoseconds(delay));
  // The handler of a timer that expired before it was cancelled still runs, without an error, and
  // may do so after this object's end: the timer's own life is what it asks first.
  std::weak_ptr<bool> alive = alive_;
  timer->async_wait(
      [this, id, alive, fire = std::move(fire)](const boost::system::error_code& error) {
        if (error || alive.expired() || running_.erase(id) == 0) return;
        fire();
      });
  running_.emplace(id, std::move(timer));
  return id;
}

}  // namespace cohost::supervisor
