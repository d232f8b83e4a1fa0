// SPDX-License-Identifier: Apache-2.0
#include "worker/loop/handler_pool.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "tests/fakes/clock.h"
#include "tests/fakes/segment_memory.h"

namespace cohost::worker {
namespace {

bool Wait(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::yield();
  }
  return true;
}

class HandlerPoolTest : public ::testing::Test {
 protected:
  SegmentMemory memory;
  ThreadSlots slots{memory.segment()};
  FakeClock clock;
};

TEST_F(HandlerPoolTest, StartsNoThreadBeforeOneIsNeeded) {
  HandlerPool pool(slots, clock, {});
  EXPECT_EQ(pool.statistics().alive, 0u);
  std::atomic<bool> ran{false};
  EXPECT_TRUE(pool.Post([&] { ran = true; }));
  EXPECT_TRUE(Wait([&] { return ran.load(); }));
  EXPECT_EQ(pool.statistics().alive, 1u);
}

TEST_F(HandlerPoolTest, UsesAnIdleThreadAgain) {
  HandlerPool pool(slots, clock, {});
  for (int i = 0; i < 100; ++i) {
    std::atomic<bool> ran{false};
    pool.Post([&] { ran = true; });
    ASSERT_TRUE(Wait([&] { return ran && pool.statistics().busy == 0; }));
  }
  EXPECT_EQ(pool.statistics().alive, 1u);
}

TEST_F(HandlerPoolTest, GrowsWhileAllAreBusyUpToItsMaximum) {
  HandlerPool pool(slots, clock, {.max_threads = 3});
  std::atomic<int> running{0};
  std::atomic<bool> release{false};
  for (int i = 0; i < 5; ++i) {
    pool.Post([&] {
      ++running;
      while (!release) std::this_thread::yield();
    });
  }
  ASSERT_TRUE(Wait([&] { return running == 3; }));
  clock.Advance(absl::Seconds(2));
  const HandlerPool::Statistics full = pool.statistics();
  EXPECT_EQ(full.alive, 3u);
  EXPECT_EQ(full.busy, 3u);
  EXPECT_EQ(full.queue_age, absl::Seconds(2));
  release = true;
  ASSERT_TRUE(Wait([&] { return running == 5; }));
  EXPECT_EQ(pool.statistics().queue_age, absl::ZeroDuration());
}

TEST_F(HandlerPoolTest, EndsIdleThreads) {
  HandlerPool pool(slots, clock, {.idle_limit = absl::Milliseconds(1)});
  for (int i = 0; i < 4; ++i) {
    std::atomic<bool> ran{false};
    pool.Post([&] { ran = true; });
    ASSERT_TRUE(Wait([&] { return ran && pool.statistics().alive == 0; }));
  }
}

TEST_F(HandlerPoolTest, NoTaskIsLostWhileIdleThreadsEnd) {
  HandlerPool pool(slots, clock, {.max_threads = 1, .idle_limit = absl::Microseconds(1)});
  std::atomic<int> ran{0};
  for (int i = 0; i < 500; ++i) {
    ASSERT_TRUE(pool.Post([&] { ++ran; }));
    if (i % 3 == 0) {
      ASSERT_TRUE(Wait([&] { return ran == i + 1; }));
    }
  }
  EXPECT_TRUE(Wait([&] { return ran == 500; }));
}

TEST_F(HandlerPoolTest, StopRunsWhatWaitsAndTakesNoMore) {
  HandlerPool pool(slots, clock, {.max_threads = 2});
  std::atomic<int> ran{0};
  for (int i = 0; i < 50; ++i) pool.Post([&] { ++ran; });
  pool.Stop();
  EXPECT_EQ(ran, 50);
  EXPECT_FALSE(pool.Post([&] { ++ran; }));
  EXPECT_EQ(ran, 50);
}

TEST_F(HandlerPoolTest, ItsThreadsTakeNoSignalsOfTheProcess) {
  HandlerPool pool(slots, clock, {});
  std::atomic<int> blocked{-1};
  pool.Post([&] {
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, nullptr, &mask);
    blocked = sigismember(&mask, SIGTERM) == 1 && sigismember(&mask, SIGSEGV) == 0 ? 1 : 0;
  });
  ASSERT_TRUE(Wait([&] { return blocked >= 0; }));
  EXPECT_EQ(blocked, 1);
}

}  // namespace
}  // namespace cohost::worker
