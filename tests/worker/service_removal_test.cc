// SPDX-License-Identifier: Apache-2.0
#include "worker/service_removal.h"

#include <fcntl.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/worker/worker_harness.h"
#include "worker/sdk/cohost.h"

namespace cohost::worker {
namespace {

constexpr absl::Duration kLong = absl::Hours(1);
constexpr absl::Duration kShort = absl::Milliseconds(30);

class ServiceRemovalTest : public ::testing::Test {
 protected:
  ServiceRemovalTest() {
    service_.handle = [this](auto exchange) { held_.push_back(std::move(exchange)); };
    harness_.MakeReady(entry_);
  }
  void Begin(absl::Duration limit, absl::Duration stop_limit = kLong) {
    DrainAndStop(harness_.parts, entry_, limit, stop_limit, [this](RemovalResult result) {
      EXPECT_FALSE(result_.has_value()) << "told twice";
      result_ = result;
    });
  }
  [[nodiscard]] bool RunUntilResult() {
    return harness_.RunUntil([this] { return result_.has_value(); });
  }
  // A call from another service of the worker.
  std::shared_ptr<native::PendingCall> CallInside() {
    native::OutgoingCall call;
    call.service = entry_.name();
    call.method = "GET";
    call.target = "/inside";
    call.start = harness_.clock.Steady();
    call.deadline = call.start + kLong;
    call.max_answer_size = 100;
    auto pending = harness_.calls.Call(
        std::move(call), [this](native::CallResult result) { answers_.push_back(result.status); });
    harness_.Poll();
    return pending;
  }

  WorkerHarness harness_;
  std::vector<std::shared_ptr<Exchange>> held_;  // they end before the loop does
  ServiceEntry& entry_ = harness_.AddService(1);
  ScriptedService& service_ = WorkerHarness::Scripted(entry_);
  std::optional<RemovalResult> result_;
  std::vector<int32_t> answers_;
};

TEST_F(ServiceRemovalTest, WhatIsInFlightEndsBeforeTheServiceDrainsAndStops) {
  UniqueFd client = harness_.Connect(entry_, kGetRequest);
  Begin(kLong);
  ASSERT_TRUE(harness_.RunUntil([this] { return entry_.draining(); }));
  harness_.Poll();
  EXPECT_EQ(service_.calls, std::vector<std::string>{"GET /"});
  (void)held_.at(0)->Respond(200, {}, "last");
  harness_.Poll();
  // The answer says close; the client does so.
  client.Reset();
  ASSERT_TRUE(RunUntilResult());
  EXPECT_EQ(service_.calls, (std::vector<std::string>{"GET /", "drain", "stop"}));
  EXPECT_EQ(result_->cancelled, 0U);
  EXPECT_TRUE(result_->whole);
  EXPECT_TRUE(harness_.table.Remove(entry_).ok());
}

TEST_F(ServiceRemovalTest, WhatIsLeftAtTheLimitIsCancelledAsRemoved) {
  const UniqueFd client = harness_.Connect(entry_, kGetRequest);
  Begin(kShort);
  ASSERT_TRUE(RunUntilResult());
  EXPECT_EQ(service_.calls, (std::vector<std::string>{"GET /", "cancelled 4", "drain", "stop"}));
  EXPECT_EQ(result_->cancelled, 1U);
  EXPECT_TRUE(result_->whole);
  EXPECT_EQ(held_.at(0)->Respond(200, {}, ""), ExchangeResult::kGone);
}

TEST_F(ServiceRemovalTest, CodeThatDoesNotReturnIsStoppedButNotWhole) {
  std::atomic<bool> release{false};
  std::atomic<bool> begun{false};
  service_.dispatch_to = Dispatch::kPool;
  service_.handle = [&](const auto&) {
    begun = true;
    while (!release) std::this_thread::yield();
  };
  const UniqueFd client = harness_.Connect(entry_, kGetRequest);
  EXPECT_TRUE(harness_.RunUntil([&] { return begun.load(); }));
  Begin(kShort);
  EXPECT_TRUE(RunUntilResult());
  EXPECT_EQ(service_.calls.back(), "stop");
  EXPECT_FALSE(result_.value_or(RemovalResult{0, true}).whole);
  EXPECT_FALSE(harness_.table.Remove(entry_).ok());
  release = true;
  EXPECT_TRUE(harness_.RunUntil([this] { return entry_.admission().calls() == 0; }));
}

TEST_F(ServiceRemovalTest, AServiceThatNeverHasDrainedIsStoppedAtTheLimit) {
  service_.hold_drain = true;
  Begin(absl::Milliseconds(200));
  ASSERT_TRUE(harness_.RunUntil([this] { return service_.calls.size() == 1; }));
  EXPECT_EQ(service_.calls.back(), "drain");
  ASSERT_TRUE(RunUntilResult());
  EXPECT_EQ(service_.calls.back(), "stop");
  EXPECT_TRUE(result_->whole);
  service_.drain_done();
  harness_.Poll();
  EXPECT_EQ(service_.calls.size(), 2U) << "its late end starts nothing";
}

TEST_F(ServiceRemovalTest, AServiceThatNeverHasStoppedIsNotWhole) {
  service_.hold_stop = true;
  Begin(kLong, kShort);
  ASSERT_TRUE(RunUntilResult());
  EXPECT_FALSE(result_->whole);
  service_.stop_done();
  service_.stop_done();
  harness_.Poll();
}

TEST_F(ServiceRemovalTest, CallsOfOtherServicesEndInTimeOrAreCancelled) {
  const auto in_time = CallInside();
  const auto never = CallInside();
  ASSERT_EQ(held_.size(), 2U);
  Begin(absl::Milliseconds(200));
  ASSERT_TRUE(harness_.RunUntil([this] { return entry_.draining(); }));
  const auto refused = CallInside();
  EXPECT_EQ(answers_, std::vector<int32_t>{COHOST_UNAVAILABLE}) << "nothing new";
  (void)held_[0]->Respond(200, {}, "");
  harness_.Poll();
  EXPECT_EQ(answers_.back(), COHOST_OK);
  EXPECT_FALSE(result_.has_value());
  ASSERT_TRUE(RunUntilResult());
  EXPECT_EQ(answers_, (std::vector<int32_t>{COHOST_UNAVAILABLE, COHOST_OK, COHOST_UNAVAILABLE}));
  EXPECT_EQ(service_.calls.at(2), "cancelled 4");
  EXPECT_TRUE(result_->whole);
  EXPECT_TRUE(harness_.table.Remove(entry_).ok());
}

TEST_F(ServiceRemovalTest, AConnectionThatWasAcceptedBeforeIsInTheLoop) {
  const UniqueFd listener = MakeListener();
  harness_.acceptor.Add(9, UniqueFd(::fcntl(listener.get(), F_DUPFD_CLOEXEC, 0)), entry_.id(),
                        entry_.gate());
  std::vector<UniqueFd> clients;
  for (int i = 0; i < 5; ++i) clients.push_back(ConnectTo(listener));
  // The loop does not run: all that the accept thread posts waits.
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (entry_.gate()->open() < 5 && std::chrono::steady_clock::now() < end) {
    std::this_thread::yield();
  }
  size_t accepted = 0;
  bool done = false;
  StopAccepting(harness_.parts, entry_, [&] {
    accepted = harness_.accepted.size();
    done = true;
  });
  ASSERT_TRUE(harness_.RunUntil([&done] { return done; }));
  EXPECT_EQ(accepted, 5U);
  // The next one waits for whoever comes after this worker.
  const UniqueFd late = ConnectTo(listener);
  done = false;
  StopAccepting(harness_.parts, entry_, [&done] { done = true; });
  ASSERT_TRUE(harness_.RunUntil([&done] { return done; }));
  EXPECT_EQ(harness_.accepted.size(), 5U);
}

TEST_F(ServiceRemovalTest, NeighboursAreServedOn) {
  ServiceEntry& neighbour = harness_.AddService(2);
  harness_.MakeReady(neighbour);
  Begin(kLong);
  ASSERT_TRUE(RunUntilResult());
  const UniqueFd client = harness_.Connect(neighbour, kGetRequest);
  EXPECT_EQ(WorkerHarness::Scripted(neighbour).calls, std::vector<std::string>{"GET /"});
  EXPECT_EQ(neighbour.state(), RowState::kReady);
}

}  // namespace
}  // namespace cohost::worker
