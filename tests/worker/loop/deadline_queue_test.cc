// SPDX-License-Identifier: Apache-2.0
#include "worker/loop/deadline_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "boost/asio/io_context.hpp"
#include "tests/fakes/clock.h"

namespace cohost::worker {
namespace {

class Called final : public Deadline {
 public:
  std::function<void()> then;
  int times = 0;

 private:
  void OnDeadline() override {
    ++times;
    if (then) then();
  }
};

class DeadlineQueueTest : public ::testing::Test {
 protected:
  void Advance(absl::Duration duration) {
    clock.Advance(duration);
    queue.RunDue();
  }
  SteadyTime In(absl::Duration duration) { return clock.Steady() + duration; }

  FakeClock clock;
  boost::asio::io_context io{1};
  DeadlineQueue queue{io, clock};
};

TEST_F(DeadlineQueueTest, CallsOnceWhenTheTimeHasCome) {
  Called deadline;
  deadline.Set(queue, In(absl::Seconds(2)));
  Advance(absl::Seconds(1));
  EXPECT_EQ(deadline.times, 0);
  Advance(absl::Seconds(1));
  EXPECT_EQ(deadline.times, 1);
  Advance(absl::Hours(1));
  EXPECT_EQ(deadline.times, 1);
}

TEST_F(DeadlineQueueTest, MovesLaterAndEarlier) {
  Called deadline;
  deadline.Set(queue, In(absl::Seconds(2)));
  deadline.Set(queue, In(absl::Seconds(10)));
  Advance(absl::Seconds(5));
  EXPECT_EQ(deadline.times, 0);
  deadline.Set(queue, In(absl::Seconds(1)));
  Advance(absl::Seconds(1));
  EXPECT_EQ(deadline.times, 1);
}

TEST_F(DeadlineQueueTest, ClearedOnesAreNotCalled) {
  Called deadline;
  deadline.Set(queue, In(absl::Seconds(1)));
  deadline.Clear();
  Advance(absl::Seconds(5));
  EXPECT_EQ(deadline.times, 0);
  deadline.Set(queue, In(absl::Seconds(1)));
  deadline.Leave();
  Advance(absl::Seconds(5));
  EXPECT_EQ(deadline.times, 0);
}

TEST_F(DeadlineQueueTest, CallsInTheOrderOfTheirTimes) {
  std::vector<int> order;
  std::vector<std::unique_ptr<Called>> all;
  for (int i = 0; i < 200; ++i) {
    all.push_back(std::make_unique<Called>());
    const int due = (i * 37) % 200;
    all.back()->then = [&order, due] { order.push_back(due); };
    all.back()->Set(queue, In(absl::Seconds(1 + due)));
  }
  for (size_t i = 0; i < all.size(); i += 3) all[i].reset();
  Advance(absl::Seconds(100));
  Advance(absl::Seconds(200));
  EXPECT_EQ(order.size(), 133u);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST_F(DeadlineQueueTest, ACallMaySetAgainAndDestroyOthers) {
  auto victim = std::make_unique<Called>();
  Called again;
  again.then = [&] {
    victim.reset();
    if (again.times < 3) again.Set(queue, In(absl::Seconds(1)));
  };
  again.Set(queue, In(absl::Seconds(1)));
  victim->Set(queue, In(absl::Seconds(1)));
  for (int i = 0; i < 5; ++i) Advance(absl::Seconds(1));
  EXPECT_EQ(again.times, 3);
  EXPECT_EQ(victim, nullptr);
}

TEST(DeadlineQueue, TheLoopsTimerCallsByItself) {
  boost::asio::io_context io{1};
  DeadlineQueue queue(io, SystemClock());
  Called late;
  Called early;
  late.Set(queue, SystemClock().Steady() + absl::Hours(1));
  early.Set(queue, SystemClock().Steady() + absl::Milliseconds(1));
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (early.times == 0 && std::chrono::steady_clock::now() < end) {
    io.run_one_for(std::chrono::seconds(1));
  }
  EXPECT_EQ(early.times, 1);
  EXPECT_EQ(late.times, 0);
}

}  // namespace
}  // namespace cohost::worker
