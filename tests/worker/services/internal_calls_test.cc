// SPDX-License-Identifier: Apache-2.0
#include "worker/services/internal_calls.h"

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/fakes/hosted_service.h"
#include "tests/fakes/segment_memory.h"
#include "worker/loop/thread_slots.h"
#include "worker/sdk/cohost.h"

namespace cohost::worker {
namespace {

using native::CallResult;
using native::OutgoingCall;

// One service "target" (id 1) that keeps what it is given, and a caller that is the test.
class InternalCallsTest : public ::testing::Test {
 protected:
  InternalCallsTest()
      : slots_(memory_.segment()),
        pool_(slots_, SystemClock(), HandlerPool::Options()),
        inbox_(io_),
        table_(memory_.segment(), pool_, inbox_, SystemClock()),
        calls_(io_, table_, SystemClock()) {
    ServiceDescription description;
    description.id = 1;
    description.name = "target";
    description.limits.concurrency = 1;
    description.limits.queue = 1;
    entry_ = *table_.Add(std::move(description));
    auto hosted = std::make_unique<FakeHostedService>(
        Dispatch::kInline,
        [this](std::shared_ptr<Exchange> exchange) { held_.push_back(std::move(exchange)); });
    hosted_ = hosted.get();
    entry_->Host(std::move(hosted));
    table_.SetState(*entry_, RowState::kReady);
    calls_.SetServes("target", 1, true);
  }

  std::shared_ptr<native::PendingCall> Call(const std::string& method = "GET",
                                            absl::Duration limit = absl::Hours(1)) {
    OutgoingCall call;
    call.service = "target";
    call.method = method;
    call.target = "/a?b";
    call.headers = {{"X-One", "1"}};
    call.body = "request body";
    call.start = SystemClock().Steady();
    call.deadline = call.start + limit;
    call.max_answer_size = 100;
    const auto pending = calls_.Call(
        std::move(call), [this](CallResult result) { results_.push_back(std::move(result)); });
    Poll();
    return pending;
  }
  void Poll() {
    io_.restart();
    io_.poll();
  }

  SegmentMemory memory_;
  boost::asio::io_context io_;
  ThreadSlots slots_;
  HandlerPool pool_;
  LoopInbox inbox_;
  ServiceTable table_;
  InternalCalls calls_;
  ServiceEntry* entry_ = nullptr;
  FakeHostedService* hosted_ = nullptr;
  std::vector<std::shared_ptr<Exchange>> held_;
  std::vector<CallResult> results_;
};

TEST_F(InternalCallsTest, CarryRequestAndAnswer) {
  EXPECT_TRUE(calls_.Serves("target"));
  EXPECT_FALSE(calls_.Serves("other"));
  (void)Call("POST");
  ASSERT_EQ(held_.size(), 1U);
  Exchange& exchange = *held_[0];
  EXPECT_EQ(exchange.method(), "POST");
  EXPECT_EQ(exchange.target(), "/a?b");
  ASSERT_EQ(exchange.headers().size(), 1U);
  EXPECT_EQ(exchange.headers()[0].value, "1");
  EXPECT_EQ(exchange.content_length(), 12U);
  std::array<char, 8> buffer;
  size_t read = 0;
  ASSERT_EQ(exchange.ReadBody(buffer.data(), buffer.size(), &read), ExchangeResult::kOk);
  EXPECT_EQ(std::string(buffer.data(), read), "request ");
  ASSERT_EQ(exchange.ReadBody(buffer.data(), buffer.size(), &read), ExchangeResult::kOk);
  EXPECT_EQ(exchange.ReadBody(buffer.data(), buffer.size(), &read), ExchangeResult::kEnd);

  const HeaderView header{"X-Two", "2"};
  EXPECT_EQ(exchange.Respond(201, std::span(&header, 1), "made"), ExchangeResult::kOk);
  EXPECT_EQ(exchange.Respond(200, {}, "again"), ExchangeResult::kGone);
  EXPECT_TRUE(results_.empty()) << "told from the loop only";
  Poll();
  ASSERT_EQ(results_.size(), 1U);
  EXPECT_EQ(results_[0].status, COHOST_OK);
  EXPECT_EQ(results_[0].http_status, 201U);
  EXPECT_EQ(results_[0].body, "made");
  ASSERT_EQ(results_[0].headers.size(), 1U);
  EXPECT_EQ(results_[0].headers[0].second, "2");
  ASSERT_EQ(hosted_->ended.size(), 1U);
  EXPECT_EQ(hosted_->ended[0], std::nullopt);
  EXPECT_EQ(entry_->counters().started.load(), 1U);
  EXPECT_EQ(entry_->counters().finished.load(), 1U);
  EXPECT_EQ(entry_->counters().answered[2].load(), 1U);
}

TEST_F(InternalCallsTest, CollectAnAnswerInParts) {
  (void)Call();
  Exchange& exchange = *held_.at(0);
  EXPECT_EQ(exchange.WriteBody("early"), ExchangeResult::kInvalid);
  EXPECT_EQ(exchange.SendHead(200, {}, std::nullopt), ExchangeResult::kOk);
  EXPECT_EQ(exchange.SendHead(200, {}, std::nullopt), ExchangeResult::kInvalid);
  EXPECT_EQ(exchange.WriteBody("one "), ExchangeResult::kOk);
  EXPECT_EQ(exchange.WriteBody("two"), ExchangeResult::kOk);
  EXPECT_EQ(exchange.Finish({}), ExchangeResult::kOk);
  Poll();
  EXPECT_EQ(results_.at(0).body, "one two");
}

TEST_F(InternalCallsTest, EndWithoutAnAnswerThatIsNotWhole) {
  (void)Call();
  EXPECT_EQ(held_.at(0)->SendHead(200, {}, 5), ExchangeResult::kOk);
  EXPECT_EQ(held_.at(0)->WriteBody("123456"), ExchangeResult::kInvalid);
  EXPECT_EQ(held_.at(0)->WriteBody("1234"), ExchangeResult::kOk);
  EXPECT_EQ(held_.at(0)->Finish({}), ExchangeResult::kOk);
  Poll();
  (void)Call();
  held_.at(1)->Abort();
  Poll();
  ASSERT_EQ(results_.size(), 2U);
  for (const CallResult& result : results_) {
    EXPECT_EQ(result.status, COHOST_UNAVAILABLE);
    EXPECT_EQ(result.http_status, 0U);
  }
}

TEST_F(InternalCallsTest, RefuseHeadersThatAreTheHosts) {
  (void)Call();
  for (const HeaderView header : {HeaderView{"Content-Length", "3"}, HeaderView{"bad name", "x"},
                                  HeaderView{"X-Split", "a\r\nb"}}) {
    EXPECT_EQ(held_.at(0)->Respond(200, std::span(&header, 1), ""), ExchangeResult::kInvalid);
  }
  EXPECT_EQ(held_.at(0)->Respond(100, {}, ""), ExchangeResult::kInvalid);
  EXPECT_EQ(held_.at(0)->Respond(200, {}, ""), ExchangeResult::kOk);
  Poll();
}

TEST_F(InternalCallsTest, LimitTheAnswerTheTimeAndThePlaces) {
  (void)Call();
  EXPECT_EQ(held_.at(0)->Respond(200, {}, std::string(101, 'x')), ExchangeResult::kGone);
  Poll();
  EXPECT_EQ(results_.at(0).status, COHOST_LIMIT);

  (void)Call("GET", absl::Milliseconds(1));
  while (results_.size() < 2 && io_.run_one() > 0) {
  }
  EXPECT_EQ(results_.at(1).status, COHOST_TIMEOUT);
  EXPECT_EQ(hosted_->ended.at(1), CancelReason::kRequestTimeout);
  EXPECT_EQ(held_.at(1)->Respond(200, {}, "late"), ExchangeResult::kGone);

  // One works, one waits, one more is refused as a client over HTTP would be.
  (void)Call();
  (void)Call();
  EXPECT_EQ(held_.size(), 3U);
  (void)Call();
  EXPECT_EQ(results_.at(2).status, COHOST_OK);
  EXPECT_EQ(results_.at(2).http_status, 503U);
  (void)held_.at(2)->Respond(200, {}, "");
  Poll();
  EXPECT_EQ(held_.size(), 4U) << "the one that waited";
  (void)held_.at(3)->Respond(200, {}, "");
  Poll();
}

TEST_F(InternalCallsTest, CanBeCancelled) {
  const auto pending = Call();
  pending->Cancel();
  pending->Cancel();
  Poll();
  ASSERT_EQ(results_.size(), 1U);
  EXPECT_EQ(results_[0].status, COHOST_CANCELLED);
  EXPECT_EQ(hosted_->ended.at(0), CancelReason::kClientGone);
}

TEST_F(InternalCallsTest, EndWithTheServiceThatIsRemoved) {
  (void)Call();
  calls_.SetServes("target", 1, false);
  (void)Call();
  EXPECT_EQ(results_.at(0).status, COHOST_UNAVAILABLE) << "not served any more";
  bool drained = false;
  calls_.Drain(1, absl::Milliseconds(1), CancelReason::kRemoved, [&drained] { drained = true; });
  EXPECT_FALSE(drained);
  while (!drained && io_.run_one() > 0) {
  }
  EXPECT_TRUE(drained);
  EXPECT_EQ(results_.at(1).status, COHOST_UNAVAILABLE);
  EXPECT_EQ(hosted_->ended.at(0), CancelReason::kRemoved);
  EXPECT_TRUE(table_.Remove(*entry_).ok()) << "nothing holds it";
}

TEST_F(InternalCallsTest, DrainWaitsForAnAnswerThatComesInTime) {
  (void)Call();
  bool drained = false;
  calls_.Drain(1, absl::Hours(1), CancelReason::kRemoved, [&drained] { drained = true; });
  (void)held_.at(0)->Respond(200, {}, "in time");
  Poll();
  EXPECT_TRUE(drained);
  EXPECT_EQ(results_.at(0).body, "in time");
}

}  // namespace
}  // namespace cohost::worker
