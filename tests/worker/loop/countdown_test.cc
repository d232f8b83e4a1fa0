// SPDX-License-Identifier: Apache-2.0
#include "worker/loop/countdown.h"

#include <optional>

#include "gtest/gtest.h"

namespace cohost::worker {
namespace {

constexpr absl::Duration kLong = absl::Hours(1);

TEST(Countdown, EndsWithTheLastThing) {
  boost::asio::io_context io;
  Countdown countdown(io);
  const auto first = countdown.Expect();
  const auto second = countdown.Expect();
  std::optional<uint32_t> missing;
  countdown.Wait(kLong, [&missing](uint32_t n) { missing = n; });
  first();
  first();  // Counts once.
  io.poll();
  EXPECT_EQ(missing, std::nullopt);
  second();
  io.poll();
  EXPECT_EQ(missing, 0U);
}

TEST(Countdown, EndsAtTheLimitAndSaysWhatIsMissing) {
  boost::asio::io_context io;
  Countdown countdown(io);
  const auto late = countdown.Expect();
  countdown.Expect()();
  std::optional<uint32_t> missing;
  int calls = 0;
  countdown.Wait(absl::Milliseconds(1), [&](uint32_t n) {
    missing = n;
    ++calls;
  });
  io.run();
  EXPECT_EQ(missing, 1U);
  late();
  io.restart();
  io.run();
  EXPECT_EQ(calls, 1);
}

TEST(Countdown, OfNothingEndsAtTheNextTurn) {
  boost::asio::io_context io;
  bool ended = false;
  {
    Countdown countdown(io);
    countdown.Wait(kLong, [&ended](uint32_t) { ended = true; });
    EXPECT_FALSE(ended);
  }
  io.poll();
  EXPECT_TRUE(ended);
}

}  // namespace
}  // namespace cohost::worker
