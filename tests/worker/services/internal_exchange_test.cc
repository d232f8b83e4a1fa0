// SPDX-License-Identifier: Apache-2.0
#include "worker/services/internal_exchange.h"

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "boost/asio/io_context.hpp"
#include "gtest/gtest.h"
#include "tests/fakes/hosted_service.h"
#include "tests/fakes/segment_memory.h"
#include "tests/support/loop.h"
#include "worker/loop/thread_slots.h"
#include "worker/sdk/cohost.h"
#include "worker/services/service_table.h"

namespace cohost::worker {
namespace {

using native::CallResult;
using native::OutgoingCall;

class InternalExchangeTest : public ::testing::Test {
 protected:
  InternalExchangeTest()
      : slots_(memory_.segment()),
        pool_(slots_, SystemClock(), HandlerPool::Options()),
        inbox_(io_),
        table_(memory_.segment(), pool_, inbox_, SystemClock()) {}
  ~InternalExchangeTest() override {
    pool_.Stop();
    Poll();
  }

  // The called service: what it gets goes to `handler`.
  void Serve(Dispatch dispatch, FakeHostedService::Handler handler) {
    ServiceDescription description;
    description.id = 1;
    description.name = "target";
    description.limits = limits_;
    entry_ = *table_.Add(std::move(description));
    auto hosted = std::make_unique<FakeHostedService>(dispatch, std::move(handler));
    hosted_ = hosted.get();
    entry_->Host(std::move(hosted));
    table_.SetState(*entry_, RowState::kReady);
  }
  // It keeps what it gets.
  void ServeLater() {
    Serve(Dispatch::kInline, [this](auto exchange) { held_.push_back(std::move(exchange)); });
  }
  static OutgoingCall Call() {
    OutgoingCall call;
    call.service = "target";
    call.method = "GET";
    call.target = "/";
    call.start = SystemClock().Steady();
    call.deadline = call.start + absl::Hours(1);
    call.max_answer_size = 10;
    return call;
  }
  std::shared_ptr<InternalExchange> Make(OutgoingCall call = Call()) {
    return std::make_shared<InternalExchange>(
        io_, SystemClock(), std::move(call),
        [this](CallResult result) { results_.push_back(std::move(result)); });
  }
  std::shared_ptr<InternalExchange> Begin(OutgoingCall call = Call()) {
    auto exchange = Make(std::move(call));
    exchange->Begin(*entry_);
    return exchange;
  }
  void Poll() { testing::PollAll(io_); }
  [[nodiscard]] bool RunUntilResults(size_t count) {
    return testing::RunUntil(io_, [&] { return results_.size() >= count; });
  }

  SegmentMemory memory_;
  boost::asio::io_context io_;
  ThreadSlots slots_;
  HandlerPool pool_;
  LoopInbox inbox_;
  ServiceTable table_;
  ServiceLimits limits_;
  ServiceEntry* entry_ = nullptr;
  FakeHostedService* hosted_ = nullptr;
  std::vector<std::shared_ptr<Exchange>> held_;
  std::vector<CallResult> results_;
};

TEST_F(InternalExchangeTest, OneThatNeverBeganIsNotCounted) {
  ServeLater();
  const auto exchange = Make();
  exchange->Fail(COHOST_UNAVAILABLE, CancelReason::kRemoved);
  exchange->Fail(COHOST_TIMEOUT, CancelReason::kRequestTimeout);
  ASSERT_EQ(results_.size(), 1U);
  EXPECT_EQ(results_[0].status, COHOST_UNAVAILABLE);
  EXPECT_EQ(entry_->counters().started.load(), 0U);
  EXPECT_EQ(entry_->counters().finished.load(), 0U);
}

TEST_F(InternalExchangeTest, AnAnswerOnItsWayWinsOverWhatComesAfter) {
  ServeLater();
  const auto exchange = Begin();
  ASSERT_EQ(held_.at(0)->Respond(200, {}, "answer"), ExchangeResult::kOk);
  exchange->Fail(COHOST_TIMEOUT, CancelReason::kRequestTimeout);
  exchange->Cancel();
  held_[0]->Abort();
  EXPECT_TRUE(results_.empty());
  Poll();
  ASSERT_EQ(results_.size(), 1U);
  EXPECT_EQ(results_[0].status, COHOST_OK);
  EXPECT_EQ(results_[0].body, "answer");
  EXPECT_EQ(hosted_->ended, std::vector<std::optional<CancelReason>>{std::nullopt});
}

TEST_F(InternalExchangeTest, TheServicesTimeoutHoldsAlsoForWhoWouldWaitLonger) {
  limits_.request_timeout = absl::Milliseconds(20);
  ServeLater();
  const auto exchange = Begin();
  EXPECT_EQ(exchange->deadline(), exchange->start() + absl::Milliseconds(20));
  ASSERT_TRUE(RunUntilResults(1));
  EXPECT_EQ(results_[0].status, COHOST_TIMEOUT);
  EXPECT_EQ(entry_->counters().finished.load(), 1U);
  EXPECT_EQ(entry_->admission().active(), 0U) << "its place is free";
}

TEST_F(InternalExchangeTest, TheCallersDeadlineHoldsAlsoForAPatientService) {
  ServeLater();
  OutgoingCall call = Call();
  call.deadline = call.start + absl::Milliseconds(20);
  (void)Begin(std::move(call));
  ASSERT_TRUE(RunUntilResults(1));
  EXPECT_EQ(results_[0].status, COHOST_TIMEOUT);
  EXPECT_EQ(held_.at(0)->SendHead(200, {}, std::nullopt), ExchangeResult::kGone);
  EXPECT_EQ(held_.at(0)->WriteBody("x"), ExchangeResult::kGone);
  EXPECT_EQ(held_.at(0)->Finish({}), ExchangeResult::kGone);
  std::array<char, 1> byte{};
  size_t read = 0;
  EXPECT_EQ(held_.at(0)->ReadBody(byte.data(), byte.size(), &read), ExchangeResult::kGone);
}

TEST_F(InternalExchangeTest, WhatTimesOutInTheQueueNeverCameToTheService) {
  limits_.concurrency = 1;
  ServeLater();
  (void)Begin();
  OutgoingCall call = Call();
  call.deadline = call.start + absl::Milliseconds(10);
  (void)Begin(std::move(call));
  ASSERT_TRUE(RunUntilResults(1));
  EXPECT_EQ(results_[0].status, COHOST_TIMEOUT);
  EXPECT_EQ(held_.size(), 1U);
  EXPECT_TRUE(hosted_->ended.empty());
  EXPECT_EQ(entry_->admission().queued(), 0U);
  (void)held_[0]->Respond(200, {}, "");
  Poll();
  EXPECT_EQ(results_.back().status, COHOST_OK);
}

TEST_F(InternalExchangeTest, AnAnswerOfExactlyTheSizeIsTakenAndOneByteMoreIsTheLimit) {
  ServeLater();
  (void)Begin();
  EXPECT_EQ(held_.at(0)->Respond(200, {}, "0123456789"), ExchangeResult::kOk);
  (void)Begin();
  Exchange& parts = *held_.at(1);
  const HeaderView header{"X-Secret", "1"};
  EXPECT_EQ(parts.SendHead(200, std::span(&header, 1), std::nullopt), ExchangeResult::kOk);
  EXPECT_EQ(parts.WriteBody("01234"), ExchangeResult::kOk);
  EXPECT_EQ(parts.WriteBody("56789"), ExchangeResult::kOk);
  EXPECT_EQ(parts.WriteBody("x"), ExchangeResult::kGone);
  EXPECT_EQ(parts.Finish({}), ExchangeResult::kGone);
  Poll();
  ASSERT_EQ(results_.size(), 2U);
  EXPECT_EQ(results_[0].body, "0123456789");
  EXPECT_EQ(results_[1].status, COHOST_LIMIT);
  EXPECT_EQ(results_[1].http_status, 0U);
  EXPECT_TRUE(results_[1].headers.empty());
  EXPECT_TRUE(results_[1].body.empty());
}

TEST_F(InternalExchangeTest, HeadGetsNoBodyHoweverLargeItWouldBe) {
  ServeLater();
  OutgoingCall call = Call();
  call.method = "HEAD";
  (void)Begin(call);
  EXPECT_EQ(held_.at(0)->Respond(200, {}, std::string(100, 'x')), ExchangeResult::kOk);
  (void)Begin(call);
  EXPECT_EQ(held_.at(1)->SendHead(200, {}, 3), ExchangeResult::kOk);
  EXPECT_EQ(held_.at(1)->WriteBody("1234"), ExchangeResult::kInvalid) << "more than it announced";
  EXPECT_EQ(held_.at(1)->WriteBody("123"), ExchangeResult::kOk);
  EXPECT_EQ(held_.at(1)->Finish({}), ExchangeResult::kOk);
  Poll();
  ASSERT_EQ(results_.size(), 2U);
  for (const CallResult& result : results_) {
    EXPECT_EQ(result.status, COHOST_OK);
    EXPECT_TRUE(result.body.empty());
  }
}

TEST_F(InternalExchangeTest, ABadHeadLeavesNothingBehind) {
  ServeLater();
  (void)Begin();
  const std::array<HeaderView, 2> half_good = {HeaderView{"X-One", "1"}, HeaderView{"", "2"}};
  EXPECT_EQ(held_.at(0)->Respond(200, half_good, "x"), ExchangeResult::kInvalid);
  EXPECT_EQ(held_.at(0)->SendHead(600, {}, std::nullopt), ExchangeResult::kInvalid);
  EXPECT_EQ(held_.at(0)->Finish({}), ExchangeResult::kInvalid) << "no head yet";
  EXPECT_EQ(held_.at(0)->Respond(204, {}, ""), ExchangeResult::kOk);
  Poll();
  EXPECT_EQ(results_.at(0).http_status, 204U);
  EXPECT_TRUE(results_.at(0).headers.empty());
}

TEST_F(InternalExchangeTest, AnsweredOnAPoolThreadItEndsOnTheLoopAndOnce) {
  std::atomic<int> handled{0};
  Serve(Dispatch::kPool, [&handled](const auto& exchange) {
    (void)exchange->Respond(200, {}, "pool");
    exchange->Abort();
    ++handled;
  });
  constexpr int kCalls = 200;
  for (int i = 0; i < kCalls; ++i) {
    const auto exchange = Begin();
    if (i % 2 == 0) exchange->Cancel();
  }
  ASSERT_TRUE(RunUntilResults(kCalls));
  pool_.Stop();
  Poll();
  EXPECT_EQ(results_.size(), static_cast<size_t>(kCalls));
  for (const CallResult& result : results_) {
    EXPECT_TRUE(result.status == COHOST_OK || result.status == COHOST_CANCELLED) << result.status;
    EXPECT_EQ(result.body, result.status == COHOST_OK ? "pool" : "");
  }
  EXPECT_EQ(entry_->counters().started.load(), static_cast<uint64_t>(kCalls));
  EXPECT_EQ(entry_->counters().finished.load(), static_cast<uint64_t>(kCalls));
  EXPECT_TRUE(entry_->admission().empty());
}

TEST_F(InternalExchangeTest, WhoWaitsForRoomOrInputIsCalledOnceFromTheLoop) {
  ServeLater();
  (void)Begin();
  int readable = 0;
  int writable = 0;
  held_.at(0)->OnReadable([&readable] { ++readable; });
  held_.at(0)->OnWritable([&writable] { ++writable; });
  EXPECT_EQ(readable + writable, 0);
  Poll();
  EXPECT_EQ(readable, 1);
  EXPECT_EQ(writable, 1);
  held_[0]->Abort();
  held_[0]->OnReadable([&readable] { ++readable; });
  Poll();
  EXPECT_EQ(readable, 2) << "also when it is gone";
}

TEST_F(InternalExchangeTest, CountsAsTheServicesOtherRequestsDo) {
  limits_.concurrency = 1;
  limits_.queue = 0;
  ServeLater();
  (void)Begin();
  (void)Begin();  // refused
  Poll();
  ServiceCounters& counters = entry_->counters();
  EXPECT_EQ(results_.at(0).http_status, 503U);
  EXPECT_EQ(counters.answered[5].load(), 1U);
  EXPECT_EQ(counters.limit_hits[static_cast<size_t>(LimitHit::kQueueFull)].load(), 1U);
  held_.at(0)->Abort();
  Poll();
  EXPECT_EQ(counters.answered[0].load(), 1U) << "without an answer";
  OutgoingCall call = Call();
  call.deadline = call.start + absl::Milliseconds(1);
  (void)Begin(std::move(call));
  ASSERT_TRUE(RunUntilResults(3));
  EXPECT_EQ(counters.limit_hits[static_cast<size_t>(LimitHit::kRequestTimeout)].load(), 1U);
  EXPECT_EQ(counters.started.load(), 3U);
  EXPECT_EQ(counters.finished.load(), 3U);
}

}  // namespace
}  // namespace cohost::worker
