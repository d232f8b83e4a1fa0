// SPDX-License-Identifier: Apache-2.0
#include "worker/prober.h"

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tests/worker/worker_harness.h"

namespace cohost::worker {
namespace {

constexpr absl::Duration kLong = absl::Hours(1);
constexpr absl::Duration kShort = absl::Milliseconds(30);

// A health callback that hangs until the test lets it go; that it may end is sure.
class Gate {
 public:
  ~Gate() { Open(); }
  void Open() { open_ = true; }
  HealthAnswer Pass() {
    ++entered;
    while (!open_) std::this_thread::yield();
    return {};
  }
  std::atomic<int> entered{0};

 private:
  std::atomic<bool> open_{false};
};

class ProberTest : public ::testing::Test {
 protected:
  ProberTest() { harness_.MakeReady(entry_); }

  using Result = std::shared_ptr<std::optional<ProbeResult>>;
  Result Begin(ServiceEntry& entry, const std::string& path, absl::Duration limit) {
    auto result = std::make_shared<std::optional<ProbeResult>>();
    prober_.Probe(entry, path, limit, [result](ProbeResult got) {
      EXPECT_FALSE(result->has_value()) << "told twice";
      *result = std::move(got);
    });
    return result;
  }
  absl::Status Probe(const std::string& path, absl::Duration limit = kLong) {
    const Result result = Begin(entry_, path, limit);
    EXPECT_TRUE(harness_.RunUntil([&] { return result->has_value(); }));
    return result->has_value() ? (*result)->status : absl::UnknownError("never told");
  }

  WorkerHarness harness_;
  // Behind the harness: it opens before the pool is waited for.
  Gate gate_;
  Prober prober_{harness_.parts};
  ServiceEntry& entry_ = harness_.AddService(1);
  ScriptedService& service_ = WorkerHarness::Scripted(entry_);
};

TEST_F(ProberTest, AsksTheCallbackAndThenThePathOfClients) {
  bool asked = false;
  service_.health = [&asked] {
    asked = true;
    return HealthAnswer();
  };
  EXPECT_TRUE(Probe("/healthz?x=1").ok());
  EXPECT_TRUE(asked);
  EXPECT_EQ(service_.calls, std::vector<std::string>{"GET /healthz?x=1"});
  EXPECT_EQ(entry_.counters().connections.load(), 0U) << "a probe is nobody's connection";
}

TEST_F(ProberTest, WithoutAPathAsksTheCallbackOnly) {
  EXPECT_TRUE(Probe("").ok());
  EXPECT_TRUE(service_.calls.empty());
}

TEST_F(ProberTest, WhoSaysThatItIsUnwellIsNotAskedFurther) {
  service_.health = [] { return HealthAnswer{false, "no database"}; };
  const absl::Status status = Probe("/");
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(status.message(), "no database");
  EXPECT_TRUE(service_.calls.empty());
}

TEST_F(ProberTest, TwoAndThreeHundredsAreWellAndNothingElse) {
  uint32_t code = 0;
  service_.handle = [&code](const auto& exchange) { (void)exchange->Respond(code, {}, ""); };
  for (const uint32_t well : {200U, 204U, 302U, 399U}) {
    code = well;
    EXPECT_TRUE(Probe("/").ok()) << code;
  }
  for (const uint32_t unwell : {400U, 404U, 500U, 503U, 599U}) {
    code = unwell;
    EXPECT_EQ(Probe("/").code(), absl::StatusCode::kUnavailable) << code;
  }
  service_.handle = [](const auto& exchange) { exchange->Abort(); };
  EXPECT_EQ(Probe("/").code(), absl::StatusCode::kUnavailable);
}

TEST_F(ProberTest, ARequestThatIsNeverAnsweredEndsAtTheLimitAndIsCancelled) {
  std::shared_ptr<Exchange> held;
  service_.handle = [&held](auto exchange) { held = std::move(exchange); };
  EXPECT_EQ(Probe("/", kShort).code(), absl::StatusCode::kDeadlineExceeded);
  ASSERT_TRUE(harness_.RunUntil([&] { return harness_.http.connections() == 0; }));
  EXPECT_EQ(service_.calls.back(), "cancelled 1");
  EXPECT_EQ(held->Respond(200, {}, ""), ExchangeResult::kGone);
  EXPECT_FALSE(prober_.InCallback(1));
}

TEST_F(ProberTest, AHungCallbackTakesOneThreadHoweverOftenItIsProbed) {
  service_.health = [this] { return gate_.Pass(); };
  EXPECT_EQ(Probe("/", kShort).code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(prober_.InCallback(1));
  for (int i = 0; i < 5; ++i) {
    const Result again = Begin(entry_, "/", kLong);
    ASSERT_TRUE(again->has_value()) << "unhealthy at once";
    EXPECT_EQ((*again)->status.code(), absl::StatusCode::kDeadlineExceeded);
  }
  ASSERT_TRUE(harness_.RunUntil([&] { return gate_.entered > 0; }));
  EXPECT_EQ(gate_.entered, 1);
  EXPECT_EQ(harness_.pool.statistics().busy, 1U);
  EXPECT_TRUE(service_.calls.empty()) << "no request to who hangs";

  gate_.Open();
  ASSERT_TRUE(harness_.RunUntil([&] { return !prober_.InCallback(1); }));
  EXPECT_TRUE(service_.calls.empty()) << "nor after its probe has ended";
  EXPECT_TRUE(Probe("/").ok());
}

TEST_F(ProberTest, NeighboursOfAHungServiceAreProbed) {
  service_.health = [this] { return gate_.Pass(); };
  ServiceEntry& neighbour = harness_.AddService(2);
  harness_.MakeReady(neighbour);
  const Result hung = Begin(entry_, "/", kLong);
  const Result well = Begin(neighbour, "/", kLong);
  ASSERT_TRUE(harness_.RunUntil([&] { return well->has_value(); }));
  EXPECT_TRUE((*well)->status.ok());
  EXPECT_FALSE(hung->has_value());
  gate_.Open();
  ASSERT_TRUE(harness_.RunUntil([&] { return hung->has_value(); }));
  EXPECT_TRUE((*hung)->status.ok());
}

TEST_F(ProberTest, ALongAnswerIsReadToItsEnd) {
  service_.handle = [](const auto& exchange) {
    (void)exchange->Respond(200, {}, std::string(8 << 20, 'x'));
  };
  EXPECT_TRUE(Probe("/").ok());
  ASSERT_TRUE(harness_.RunUntil([&] { return harness_.http.connections() == 0; }));
}

TEST_F(ProberTest, AnAnswerWithoutAnEndEndsAtTheLimit) {
  std::shared_ptr<Exchange> endless;
  std::function<void()> write_on = [&] {
    ExchangeResult result = ExchangeResult::kOk;
    while (result == ExchangeResult::kOk) result = endless->WriteBody(std::string(1000, 'x'));
    if (result == ExchangeResult::kWouldBlock) endless->OnWritable(write_on);
  };
  service_.handle = [&](auto exchange) {
    endless = std::move(exchange);
    (void)endless->SendHead(200, {}, std::nullopt);
    write_on();
  };
  EXPECT_EQ(Probe("/", absl::Milliseconds(100)).code(), absl::StatusCode::kDeadlineExceeded);
  ASSERT_TRUE(harness_.RunUntil([&] { return harness_.http.connections() == 0; }));
  EXPECT_EQ(endless->WriteBody("x"), ExchangeResult::kGone);
}

TEST_F(ProberTest, WithoutAThreadItIsUnhealthyAndNothingIsKept) {
  harness_.pool.Stop();
  EXPECT_EQ(Probe("/").code(), absl::StatusCode::kResourceExhausted);
  EXPECT_FALSE(prober_.InCallback(1));
}

}  // namespace
}  // namespace cohost::worker
