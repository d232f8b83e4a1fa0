// SPDX-License-Identifier: Apache-2.0
#include "worker/loop/serial_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "tests/fakes/clock.h"
#include "tests/fakes/segment_memory.h"

namespace cohost::worker {
namespace {

class SerialQueueTest : public ::testing::Test {
 protected:
  SegmentMemory memory;
  ThreadSlots slots{memory.segment()};
  FakeClock clock;
  HandlerPool pool{slots, clock, {.max_threads = 4}};
};

TEST_F(SerialQueueTest, RunsInOrderAndNeverTwoAtATime) {
  std::vector<int> order;  // not guarded: that is the point
  std::atomic<int> running{0};
  std::atomic<bool> overlapped{false};
  SerialQueue queue(pool);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(queue.Post([&, i] {
      if (++running > 1) overlapped = true;
      order.push_back(i);
      --running;
    }));
  }
  pool.Stop();
  ASSERT_EQ(order.size(), 1000u);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(order[static_cast<size_t>(i)], i);
  EXPECT_FALSE(overlapped);
}

TEST_F(SerialQueueTest, WhatWasPostedRunsAlsoWhenTheObjectIsGone) {
  std::atomic<int> ran{0};
  {
    SerialQueue queue(pool);
    for (int i = 0; i < 40; ++i) queue.Post([&] { ++ran; });
  }
  pool.Stop();
  EXPECT_EQ(ran, 40);
}

TEST_F(SerialQueueTest, RefusesWhenThePoolTakesNoMore) {
  SerialQueue queue(pool);
  pool.Stop();
  EXPECT_FALSE(queue.Post([] { FAIL(); }));
}

TEST_F(SerialQueueTest, TwoQueuesDoNotWaitForEachOther) {
  SerialQueue first(pool);
  SerialQueue second(pool);
  std::atomic<bool> release{false};
  first.Post([&] {
    while (!release) std::this_thread::yield();
  });
  // Only the second can end the first.
  second.Post([&] { release = true; });
  pool.Stop();
  EXPECT_TRUE(release);
}

}  // namespace
}  // namespace cohost::worker
