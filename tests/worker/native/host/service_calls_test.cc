// SPDX-License-Identifier: Apache-2.0
#include "worker/native/host/service_calls.h"

#include <gtest/gtest.h>

#include <thread>

namespace cohost::worker::native {
namespace {

class Counting final : public PendingCall {
 public:
  void Cancel() override { ++cancelled; }
  int cancelled = 0;
};

TEST(ServiceCalls, CancelReachesACallOnItsWay) {
  ServiceCalls calls;
  const auto pending = std::make_shared<Counting>();
  const uint64_t call = calls.Reserve();
  calls.Started(call, pending);
  EXPECT_TRUE(calls.Cancel(call));
  EXPECT_EQ(pending->cancelled, 1);
  calls.Finish(call);
  EXPECT_FALSE(calls.Cancel(call));
}

TEST(ServiceCalls, OneThatWasCancelledBeforeItStartedIsCancelledThen) {
  ServiceCalls calls;
  const auto pending = std::make_shared<Counting>();
  const uint64_t call = calls.Reserve();
  EXPECT_TRUE(calls.Cancel(call));
  calls.Started(call, pending);
  EXPECT_EQ(pending->cancelled, 1);
}

TEST(ServiceCalls, OneWhoseResultCameFirstIsNotKept) {
  ServiceCalls calls;
  const uint64_t call = calls.Reserve();
  calls.Finish(call);
  calls.Started(call, std::make_shared<Counting>());
  calls.WaitUntilNone();
  EXPECT_FALSE(calls.Cancel(call));
}

TEST(ServiceCalls, IsBounded) {
  ServiceCalls calls;
  for (size_t i = 0; i < ServiceCalls::kMaxCalls; ++i) ASSERT_NE(calls.Reserve(), 0u);
  EXPECT_EQ(calls.Reserve(), 0u);
}

TEST(ServiceCalls, ClosingCancelsAllAndWaitsForTheirResults) {
  ServiceCalls calls;
  const auto pending = std::make_shared<Counting>();
  const uint64_t call = calls.Reserve();
  calls.Started(call, pending);
  calls.CancelAll();
  EXPECT_EQ(pending->cancelled, 1);
  EXPECT_EQ(calls.Reserve(), 0u);
  std::thread result([&] { calls.Finish(call); });
  calls.WaitUntilNone();
  result.join();
}

}  // namespace
}  // namespace cohost::worker::native
