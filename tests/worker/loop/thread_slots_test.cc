// SPDX-License-Identifier: Apache-2.0
#include "worker/loop/thread_slots.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "tests/fakes/segment_memory.h"

namespace cohost::worker {
namespace {

TEST(ThreadSlots, SaysWhoWorksForWhomAndRestores) {
  SegmentMemory memory;
  ThreadSlots slots(memory.segment());
  const ThreadSlot& slot = slots.Current();
  EXPECT_EQ(&slot, &memory.segment().threads[0]);
  EXPECT_EQ(slot.thread_id.load(), static_cast<uint32_t>(syscall(SYS_gettid)));
  {
    const ScopedWork outer(slots, 7, SteadyTime{100});
    EXPECT_EQ(slot.row.load(), 7u);
    EXPECT_EQ(slot.request_start_ns.load(), 100u);
    EXPECT_EQ(slot.state.load(), static_cast<uint32_t>(ThreadState::kInService));
    {
      const ScopedWork inner(slots, 8, SteadyTime{200});
      EXPECT_EQ(slot.row.load(), 8u);
    }
    EXPECT_EQ(slot.row.load(), 7u);
    EXPECT_EQ(slot.request_start_ns.load(), 100u);
  }
  EXPECT_EQ(slot.row.load(), kNoRow);
  EXPECT_EQ(slot.state.load(), static_cast<uint32_t>(ThreadState::kIdle));
}

TEST(ThreadSlots, AThreadGivesItsSlotBackWhenItEnds) {
  SegmentMemory memory;
  ThreadSlots slots(memory.segment());
  for (int i = 0; i < 3; ++i) {
    std::thread([&] {
      const ScopedWork work(slots, 1, SteadyTime{1});
      EXPECT_EQ(&slots.Current(), &memory.segment().threads[0]);
    }).join();
    EXPECT_EQ(memory.segment().threads[0].thread_id.load(), 0u);
    EXPECT_EQ(memory.segment().threads[0].row.load(), kNoRow);
  }
}

TEST(ThreadSlots, ManyThreadsHaveSlotsOfTheirOwn) {
  SegmentMemory memory;
  ThreadSlots slots(memory.segment());
  std::atomic<int> ready{0};
  std::atomic<bool> wrong{false};
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < 32; ++i) {
    threads.emplace_back([&, i] {
      slots.Exchange({ThreadState::kInService, i, SteadyTime{1}});
      ++ready;
      while (ready < 32) std::this_thread::yield();
      if (slots.Current().row.load() != i) wrong = true;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(wrong);
}

TEST(ThreadSlots, WithoutAFreeSlotThreadsShareTheOverflowSlotAndAreCounted) {
  SegmentMemory memory;
  for (uint32_t i = 0; i < kThreadSlots; ++i) memory.segment().threads[i].thread_id.store(1);
  ThreadSlots slots(memory.segment());
  std::thread([&] { slots.Exchange({ThreadState::kInService, 3, SteadyTime{1}}); }).join();
  std::thread([&] { slots.Exchange({ThreadState::kInService, 4, SteadyTime{1}}); }).join();
  EXPECT_EQ(memory.segment().header.thread_slot_overflows.load(), 2u);
  EXPECT_EQ(memory.segment().threads[kThreadSlots].row.load(), 4u);
}

TEST(ThreadSlots, AThreadThatOutlivesTheObjectDoesNotWriteAnyMore) {
  SegmentMemory memory;
  auto slots = std::make_unique<ThreadSlots>(memory.segment());
  std::atomic<int> step{0};
  std::thread thread([&] {
    slots->Current();
    step = 1;
    while (step != 2) std::this_thread::yield();
  });
  while (step != 1) std::this_thread::yield();
  slots.reset();
  memory.segment().threads[0].thread_id.store(42);
  step = 2;
  thread.join();
  EXPECT_EQ(memory.segment().threads[0].thread_id.load(), 42u);
}

TEST(ThreadSlots, StripesAreInRange) {
  SegmentMemory memory;
  ThreadSlots slots(memory.segment());
  EXPECT_LT(slots.CurrentStripe(), kStripes);
}

}  // namespace
}  // namespace cohost::worker
