// SPDX-License-Identifier: Apache-2.0
#include "worker/native/host/callback_gate.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace cohost::worker::native {
namespace {

TEST(CallbackGate, LetsInUntilItIsClosed) {
  CallbackGate gate;
  {
    const GateScope first(gate);
    const GateScope second(gate);
    EXPECT_TRUE(first);
    EXPECT_TRUE(second);
  }
  gate.CloseAndWait();
  const GateScope late(gate);
  EXPECT_FALSE(late);
}

TEST(CallbackGate, ClosingWaitsForThoseInside) {
  CallbackGate gate;
  ASSERT_TRUE(gate.Enter());
  std::atomic<bool> left{false};
  std::thread inside([&] {
    // The gate refuses others from the moment when it is being closed.
    while (gate.Enter()) gate.Leave();
    left = true;
    gate.Leave();
  });
  gate.CloseAndWait();
  EXPECT_TRUE(left);
  inside.join();
}

TEST(CallbackGate, NobodyIsInsideAfterClosing) {
  CallbackGate gate;
  std::atomic<int> inside{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      while (gate.Enter()) {
        ++inside;
        --inside;
        gate.Leave();
      }
    });
  }
  gate.CloseAndWait();
  EXPECT_EQ(inside, 0);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace cohost::worker::native
