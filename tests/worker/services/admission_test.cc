// SPDX-License-Identifier: Apache-2.0
#include "worker/services/admission.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "boost/asio/io_context.hpp"
#include "tests/fakes/clock.h"
#include "tests/fakes/hosted_service.h"
#include "tests/fakes/segment_memory.h"
#include "tests/support/loop.h"

namespace cohost::worker {
namespace {

// An exchange without a connection: only its place matters here.
class PlainExchange final : public AdmittedExchange {
 public:
  explicit PlainExchange(SteadyTime start) : start_(start) {}

  std::string_view method() const override { return "GET"; }
  std::string_view target() const override { return "/"; }
  std::span<const HeaderView> headers() const override { return {}; }
  std::string_view peer() const override { return "unix"; }
  std::optional<uint64_t> content_length() const override { return 0; }
  SteadyTime start() const override { return start_; }
  SteadyTime deadline() const override { return {}; }
  ExchangeResult ReadBody(char*, size_t, size_t*) override { return ExchangeResult::kEnd; }
  std::span<const HeaderView> trailers() const override { return {}; }
  void OnReadable(std::function<void()>) override {}
  ExchangeResult Respond(uint32_t, std::span<const HeaderView>, std::string_view) override {
    return ExchangeResult::kOk;
  }
  ExchangeResult SendHead(uint32_t, std::span<const HeaderView>, std::optional<uint64_t>) override {
    return ExchangeResult::kOk;
  }
  ExchangeResult WriteBody(std::string_view) override { return ExchangeResult::kOk; }
  void OnWritable(std::function<void()>) override {}
  ExchangeResult Finish(std::span<const HeaderView>) override { return ExchangeResult::kOk; }
  void Abort() override {}
  void OnLoop() override { NoteCall(); }

  int refused = 0;

 private:
  void OnRefused() override { ++refused; }

  const SteadyTime start_;
};

class AdmissionTest : public ::testing::Test {
 protected:
  std::shared_ptr<PlainExchange> Submit(Admission& admission) {
    clock.Advance(absl::Seconds(1));
    auto exchange = std::make_shared<PlainExchange>(clock.Steady());
    admission.Submit(exchange);
    return exchange;
  }
  // Runs the loop until no call is left; false after a while.
  [[nodiscard]] bool RunUntilNoCalls(Admission& admission) {
    return testing::RunUntil(io, [&] { return admission.calls() == 0; });
  }
  uint64_t Nanoseconds(const PlainExchange& exchange) const {
    return static_cast<uint64_t>(exchange.start().nanoseconds);
  }

  SegmentMemory memory;
  ServiceRow& row = memory.segment().rows[3];
  ThreadSlots slots{memory.segment()};
  FakeClock clock;
  boost::asio::io_context io{1};
  LoopInbox inbox{io};
  HandlerPool pool{slots, clock, {.max_threads = 4}};
};

TEST_F(AdmissionTest, LetsInUpToTheConcurrencyThenQueuesThenRefuses) {
  std::vector<Exchange*> handled;
  FakeHostedService hosted(Dispatch::kInline,
                           [&](auto exchange) { handled.push_back(exchange.get()); });
  Admission admission(row, 3, 2, 1, pool, inbox, clock);
  admission.Host(hosted);
  const auto first = Submit(admission);
  const auto second = Submit(admission);
  const auto queued = Submit(admission);
  const auto refused = Submit(admission);
  EXPECT_EQ(handled, (std::vector<Exchange*>{first.get(), second.get()}));
  EXPECT_EQ(refused->refused, 1);
  EXPECT_FALSE(refused->admitted());
  EXPECT_EQ(row.oldest_request_ns.load(), Nanoseconds(*first));
  EXPECT_EQ(row.oldest_queued_ns.load(), Nanoseconds(*queued));
  EXPECT_EQ(row.queued.load(), 1u);

  admission.End(*first, nullptr);
  EXPECT_EQ(handled.back(), queued.get());
  EXPECT_EQ(row.oldest_request_ns.load(), Nanoseconds(*second));
  EXPECT_EQ(row.queued.load(), 0u);
  EXPECT_EQ(row.oldest_queued_ns.load(), 0u);
  const CancelReason gone = CancelReason::kClientGone;
  admission.End(*second, &gone);
  admission.End(*second, &gone);
  admission.End(*queued, nullptr);
  EXPECT_EQ(hosted.ended,
            (std::vector<std::optional<CancelReason>>{std::nullopt, gone, std::nullopt}));
  EXPECT_EQ(admission.active(), 0u);
  EXPECT_EQ(row.oldest_request_ns.load(), 0u);
  EXPECT_EQ(first.use_count(), 1);
}

TEST_F(AdmissionTest, WhatLeavesTheQueueNeverCameToTheService) {
  FakeHostedService hosted(Dispatch::kInline, [](auto) {});
  Admission admission(row, 3, 1, 2, pool, inbox, clock);
  admission.Host(hosted);
  const auto first = Submit(admission);
  const auto second = Submit(admission);
  const auto third = Submit(admission);
  const CancelReason timeout = CancelReason::kRequestTimeout;
  admission.End(*second, &timeout);
  EXPECT_TRUE(hosted.ended.empty());
  EXPECT_EQ(row.oldest_queued_ns.load(), Nanoseconds(*third));
  admission.End(*first, nullptr);
  EXPECT_TRUE(third->admitted());
  admission.End(*third, nullptr);
  EXPECT_EQ(hosted.ended.size(), 2u);
}

TEST_F(AdmissionTest, TimeThatTheClientTakesIsNotTheServices) {
  FakeHostedService hosted(Dispatch::kInline, [](auto) {});
  Admission admission(row, 3, 2, 0, pool, inbox, clock);
  admission.Host(hosted);
  const auto first = Submit(admission);
  const auto second = Submit(admission);
  admission.SetClientWaits(*first, true);
  EXPECT_EQ(row.oldest_request_ns.load(), Nanoseconds(*second));
  EXPECT_EQ(admission.active(), 2u);
  clock.Advance(absl::Seconds(60));
  admission.SetClientWaits(*first, false);
  EXPECT_EQ(row.oldest_request_ns.load(), Nanoseconds(*second));
  admission.End(*second, nullptr);
  EXPECT_EQ(row.oldest_request_ns.load(), static_cast<uint64_t>(clock.Steady().nanoseconds))
      << "its time begins again";
  admission.SetClientWaits(*first, true);
  EXPECT_EQ(row.oldest_request_ns.load(), 0u);
  admission.End(*first, nullptr);
  EXPECT_EQ(admission.active(), 0u);
}

TEST_F(AdmissionTest, AStoppedPoolIsARefusal) {
  FakeHostedService hosted(Dispatch::kPool, [](auto) { FAIL(); });
  Admission admission(row, 3, 2, 0, pool, inbox, clock);
  admission.Host(hosted);
  pool.Stop();
  const auto exchange = Submit(admission);
  EXPECT_EQ(exchange->refused, 1);
  EXPECT_EQ(admission.active(), 0u);
  EXPECT_EQ(admission.calls(), 0u);
}

TEST_F(AdmissionTest, ACallThatHasNotBegunIsCalledOff) {
  std::atomic<bool> release{false};
  std::atomic<int> handled{0};
  FakeHostedService hosted(Dispatch::kSerial, [&](auto) {
    ++handled;
    while (!release) std::this_thread::yield();
  });
  Admission admission(row, 3, 2, 0, pool, inbox, clock);
  admission.Host(hosted);
  int told = 0;
  admission.set_on_empty([&] { ++told; });
  const auto first = Submit(admission);
  const auto second = Submit(admission);
  while (handled == 0) std::this_thread::yield();
  const CancelReason timeout = CancelReason::kRequestTimeout;
  admission.End(*second, &timeout);
  EXPECT_TRUE(hosted.ended.empty());
  admission.End(*first, &timeout);
  EXPECT_EQ(hosted.ended.size(), 1u);
  EXPECT_EQ(admission.active(), 2u) << "places are free when the calls have returned";
  EXPECT_EQ(told, 0);
  release = true;
  ASSERT_TRUE(RunUntilNoCalls(admission));
  EXPECT_EQ(handled, 1);
  EXPECT_EQ(admission.active(), 0u);
  EXPECT_EQ(told, 1);
}

TEST_F(AdmissionTest, MayGoWhileACallStillRuns) {
  std::atomic<bool> release{false};
  std::atomic<bool> begun{false};
  FakeHostedService hosted(Dispatch::kPool, [&](auto) {
    begun = true;
    while (!release) std::this_thread::yield();
  });
  std::shared_ptr<PlainExchange> exchange;
  {
    Admission admission(row, 3, 1, 0, pool, inbox, clock);
    admission.Host(hosted);
    exchange = Submit(admission);
    while (!begun) std::this_thread::yield();
    const CancelReason removed = CancelReason::kRemoved;
    admission.End(*exchange, &removed);
  }
  release = true;
  pool.Stop();
  io.poll();
  EXPECT_EQ(exchange.use_count(), 1);
}

}  // namespace
}  // namespace cohost::worker
