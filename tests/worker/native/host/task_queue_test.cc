// SPDX-License-Identifier: Apache-2.0
#include "worker/native/host/task_queue.h"

#include <gtest/gtest.h>

namespace cohost::worker::native {
namespace {

void Nothing(void*, cohost_event) {}

TEST(TaskQueue, GivesTasksInOrderAndOnce) {
  TaskQueue queue;
  int first = 0;
  int second = 0;
  EXPECT_TRUE(queue.Add({Nothing, &first}));
  EXPECT_TRUE(queue.Add({Nothing, &second}));
  EXPECT_EQ(queue.Take()->data, &first);
  EXPECT_EQ(queue.Take()->data, &second);
  EXPECT_FALSE(queue.Take().has_value());
}

TEST(TaskQueue, IsBounded) {
  TaskQueue queue;
  for (size_t i = 0; i < TaskQueue::kMaxTasks; ++i) ASSERT_TRUE(queue.Add({Nothing, nullptr}));
  EXPECT_FALSE(queue.Add({Nothing, nullptr}));
}

TEST(TaskQueue, ClosingGivesTheRestAndTakesNoMore) {
  TaskQueue queue;
  EXPECT_TRUE(queue.Add({Nothing, nullptr}));
  EXPECT_EQ(queue.Close().size(), 1u);
  EXPECT_FALSE(queue.Add({Nothing, nullptr}));
  EXPECT_TRUE(queue.Close().empty());
}

}  // namespace
}  // namespace cohost::worker::native
