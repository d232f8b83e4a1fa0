// SPDX-License-Identifier: Apache-2.0
#include "worker/native/life_thread.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/worker/native/native_harness.h"

namespace cohost::worker::native {
namespace {

TEST(LifeThread, RunsStepsInOrderAndOneAtATime) {
  LifeThread life;
  std::vector<int> steps;
  Promised<bool> done;
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(life.Post([&steps, i] { steps.push_back(i); }));
  }
  ASSERT_TRUE(life.Post([&done] { done.Give(true); }));
  ASSERT_TRUE(done.Wait().has_value());
  ASSERT_EQ(steps.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(steps[i], i);
}

TEST(LifeThread, AStepMayPostAndOutliveTheObject) {
  Promised<bool> done;
  {
    const LifeThread life;
    ASSERT_TRUE(
        life.Post([copy = life, &done] { EXPECT_TRUE(copy.Post([&done] { done.Give(true); })); }));
  }
  EXPECT_TRUE(done.Wait().has_value());
}

TEST(LifeThread, StartsAgainWhenItWasIdle) {
  const LifeThread life;
  for (int i = 0; i < 50; ++i) {
    Promised<bool> done;
    ASSERT_TRUE(life.Post([&done] { done.Give(true); }));
    ASSERT_TRUE(done.Wait().has_value());
  }
}

}  // namespace
}  // namespace cohost::worker::native
