// SPDX-License-Identifier: Apache-2.0
#include "supervisor/loop/asio_timers.h"

#include <gtest/gtest.h>

#include <optional>

namespace cohost::supervisor {
namespace {

TEST(AsioTimers, FireOnceAndInOrder) {
  boost::asio::io_context loop;
  AsioTimers timers(loop);
  std::string order;
  timers.After(absl::Milliseconds(2), [&] { order += "b"; });
  timers.After(absl::ZeroDuration(), [&] { order += "a"; });
  EXPECT_EQ(order, "");
  loop.run();
  EXPECT_EQ(order, "ab");
}

TEST(AsioTimers, ACancelledTimerNeverFires) {
  boost::asio::io_context loop;
  AsioTimers timers(loop);
  bool fired = false;
  const Timers::Id id = timers.After(absl::ZeroDuration(), [&] { fired = true; });
  timers.After(absl::ZeroDuration(), [&] { timers.Cancel(id); });
  timers.Cancel(id);
  timers.Cancel(id);
  loop.run();
  EXPECT_FALSE(fired);
}

TEST(AsioTimers, EndWithoutFiring) {
  boost::asio::io_context loop;
  std::optional<AsioTimers> timers(std::in_place, loop);
  bool fired = false;
  timers->After(absl::ZeroDuration(), [&] { fired = true; });
  timers.reset();
  loop.run();
  EXPECT_FALSE(fired);
}

TEST(Timer, ATimerMayStartItselfAgainAndEndItsOwner) {
  boost::asio::io_context loop;
  AsioTimers timers(loop);
  auto timer = std::make_unique<Timer>(timers);
  int fired = 0;
  std::function<void()> fire = [&] {
    if (++fired == 3) return timer.reset();
    timer->Start(absl::ZeroDuration(), fire);
  };
  timer->Start(absl::ZeroDuration(), fire);
  EXPECT_TRUE(timer->running());
  loop.run();
  EXPECT_EQ(fired, 3);
}

}  // namespace
}  // namespace cohost::supervisor
