// SPDX-License-Identifier: Apache-2.0
#include "worker/loop/loop_timer.h"

#include <memory>
#include <vector>

#include "gtest/gtest.h"

namespace cohost::worker {
namespace {

TEST(LoopTimer, CallsOnce) {
  boost::asio::io_context io;
  LoopTimer timer(io);
  int calls = 0;
  timer.Start(absl::Milliseconds(1), [&calls] { ++calls; });
  EXPECT_TRUE(timer.running());
  io.run();
  EXPECT_EQ(calls, 1);
  EXPECT_FALSE(timer.running());
}

TEST(LoopTimer, ForgetsTheFormerStart) {
  boost::asio::io_context io;
  LoopTimer timer(io);
  std::vector<int> calls;
  timer.Start(absl::ZeroDuration(), [&calls] { calls.push_back(1); });
  timer.Start(absl::ZeroDuration(), [&calls] { calls.push_back(2); });
  io.run();
  EXPECT_EQ(calls, std::vector<int>{2});
}

TEST(LoopTimer, CallsNothingWhenItIsDestroyedByAnotherThatIsDue) {
  boost::asio::io_context io;
  auto victim = std::make_unique<LoopTimer>(io);
  LoopTimer killer(io);
  bool called = false;
  // Both are due in the same turn; the first destroys the second.
  killer.Start(absl::ZeroDuration(), [&victim] { victim.reset(); });
  victim->Start(absl::ZeroDuration(), [&called] { called = true; });
  io.run();
  EXPECT_FALSE(called);
}

TEST(LoopTimer, MayBeStartedAgainFromItsOwnCall) {
  boost::asio::io_context io;
  LoopTimer timer(io);
  int calls = 0;
  std::function<void()> again = [&] {
    if (++calls < 3) timer.Start(absl::ZeroDuration(), again);
  };
  timer.Start(absl::ZeroDuration(), again);
  io.run();
  EXPECT_EQ(calls, 3);
}

}  // namespace
}  // namespace cohost::worker
