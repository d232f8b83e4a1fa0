// SPDX-License-Identifier: Apache-2.0
#include "worker/services/service_entry.h"

#include <limits>
#include <memory>
#include <utility>

#include "boost/asio/io_context.hpp"
#include "gtest/gtest.h"
#include "tests/fakes/clock.h"
#include "tests/fakes/segment_memory.h"

namespace cohost::worker {
namespace {

class ServiceEntryTest : public ::testing::Test {
 protected:
  static ServiceDescription Describe() {
    ServiceDescription description;
    description.id = 7;
    description.name = "catalog";
    description.limits.connections = 2;
    return description;
  }
  void SetOldest(SteadyTime request, SteadyTime queued) {
    row_.oldest_request_ns = static_cast<uint64_t>(request.nanoseconds);
    row_.oldest_queued_ns = static_cast<uint64_t>(queued.nanoseconds);
  }

  SegmentMemory memory_;
  ServiceRow& row_ = memory_.segment().rows[5];
  FakeClock clock_;
  ThreadSlots slots_{memory_.segment()};
  boost::asio::io_context io_{1};
  LoopInbox inbox_{io_};
  HandlerPool pool_{slots_, clock_, {}};
  ServiceEntry entry_{Describe(), row_, 5, pool_, inbox_, clock_};
};

TEST_F(ServiceEntryTest, AgesAreThoseOfTheRowAtTheGivenMoment) {
  const SteadyTime now = clock_.Steady();
  SetOldest(now + -absl::Seconds(3), now + -absl::Milliseconds(5));
  EXPECT_EQ(entry_.gauges(now).oldest_request_age, absl::Seconds(3));
  EXPECT_EQ(entry_.gauges(now).oldest_queued_age, absl::Milliseconds(5));
  EXPECT_EQ(entry_.gauges(now + absl::Seconds(1)).oldest_request_age, absl::Seconds(4));
}

TEST_F(ServiceEntryTest, WithoutARequestThereIsNoAge) {
  SetOldest({}, {});
  EXPECT_EQ(entry_.gauges(clock_.Steady()).oldest_request_age, absl::ZeroDuration());
  EXPECT_EQ(entry_.gauges(clock_.Steady()).oldest_queued_age, absl::ZeroDuration());
}

TEST_F(ServiceEntryTest, ARequestThatBeganAfterTheMomentHasNoAge) {
  const SteadyTime now = clock_.Steady();
  SetOldest(now + absl::Nanoseconds(1), SteadyTime{std::numeric_limits<int64_t>::max()});
  EXPECT_EQ(entry_.gauges(now).oldest_request_age, absl::ZeroDuration());
  EXPECT_EQ(entry_.gauges(now).oldest_queued_age, absl::ZeroDuration());
}

TEST_F(ServiceEntryTest, TheGateHoldsTheLimitOfConnectionsAndOutlivesTheEntry) {
  std::shared_ptr<AcceptGate> gate;
  {
    ServiceEntry gone(Describe(), row_, 6, pool_, inbox_, clock_);
    gate = gone.gate();
    EXPECT_TRUE(gate->HasRoom());
    gate->Add();
    gate->Add();
    EXPECT_FALSE(gate->HasRoom());
    EXPECT_EQ(gone.gauges(clock_.Steady()).connections, 2U);
  }
  EXPECT_FALSE(gate->TakeAway());
  EXPECT_EQ(gate->open(), 1U);
}

TEST(LatencyBucket, UpperBoundsBelongToTheirBucket) {
  for (size_t i = 0; i < kLatencyBounds.size(); ++i) {
    const absl::Duration bound = absl::Seconds(kLatencyBounds[i]);
    EXPECT_EQ(LatencyBucket(bound), i) << bound;
    EXPECT_EQ(LatencyBucket(bound + absl::Nanoseconds(1)), i + 1) << bound;
    EXPECT_EQ(LatencyBucket(bound - absl::Nanoseconds(1)), i) << bound;
  }
}

TEST(LatencyBucket, WhateverAClockSaysThereIsABucket) {
  EXPECT_EQ(LatencyBucket(absl::ZeroDuration()), 0U);
  EXPECT_EQ(LatencyBucket(-absl::Seconds(1)), 0U);
  EXPECT_EQ(LatencyBucket(-absl::InfiniteDuration()), 0U);
  EXPECT_EQ(LatencyBucket(absl::Hours(24)), kLatencyBuckets - 1);
  EXPECT_EQ(LatencyBucket(absl::InfiniteDuration()), kLatencyBuckets - 1);
}

}  // namespace
}  // namespace cohost::worker
