// SPDX-License-Identifier: Apache-2.0
#include "worker/http/http_exchange.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/worker/http/http_harness.h"

namespace cohost::worker {
namespace {

class CountingConnection final : public ExchangeConnection {
 public:
  void OnExchange() override { ++told; }
  int told = 0;
};

class HttpExchangeTest : public ::testing::Test {
 protected:
  std::shared_ptr<HttpExchange> Open(std::string_view head) {
    auto exchange = std::make_shared<HttpExchange>(harness.inbox, harness.slots);
    EXPECT_EQ(exchange->Open(head, "unix", harness.clock.Steady()), 0u);
    exchange->Attach(&connection, entry, harness.clock.Steady() + absl::Seconds(30));
    exchange->EndQuiet();
    return exchange;
  }
  std::string Output(HttpExchange& exchange) {
    std::string output;
    exchange.Take(output, 0);
    return WithoutDates(output);
  }

  HttpHarness harness;
  ServiceEntry& entry = harness.AddService(Dispatch::kInline, [](auto) {});
  CountingConnection connection;
};

constexpr std::string_view kGet = "GET /p HTTP/1.1\r\nHost: x\r\n\r\n";
constexpr std::string_view kPost =
    "POST /p HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";

TEST_F(HttpExchangeTest, OfManyAnswersExactlyOneCounts) {
  for (int round = 0; round < 20; ++round) {
    const auto exchange = Open(kGet);
    std::atomic<int> accepted{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        const auto result = exchange->Respond(200, {}, "x");
        if (result == ExchangeResult::kOk) ++accepted;
      });
    }
    const bool by_host = exchange->AnswerByHost(504, /*close=*/false);
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(accepted + (by_host ? 1 : 0), 1);
    const std::string output = Output(*exchange);
    EXPECT_EQ(output.find("HTTP/1.1", 1), std::string::npos) << output;
    exchange->Detach();
  }
}

TEST_F(HttpExchangeTest, TheConnectionIsToldOfChangesOnce) {
  const auto exchange = Open(kGet);
  exchange->SendHead(200, {}, 3);
  exchange->WriteBody("a");
  exchange->WriteBody("bc");
  EXPECT_EQ(connection.told, 0);
  harness.Poll();
  EXPECT_EQ(connection.told, 1);
  EXPECT_EQ(Output(*exchange), "HTTP/1.1 200 OK\r\nDate: D\r\nContent-Length: 3\r\n\r\nabc");
}

TEST_F(HttpExchangeTest, TheBodysWindowOpensAtHalf) {
  const auto exchange = Open(kPost);
  exchange->AddBody(std::string(kExchangeWindow, 'x'));
  EXPECT_EQ(exchange->BodyRoom(), 0u);
  EXPECT_FALSE(exchange->state().wants_body);
  std::vector<char> part(kExchangeWindow / 2);
  size_t read = 0;
  ASSERT_EQ(exchange->ReadBody(part.data(), part.size(), &read), ExchangeResult::kOk);
  harness.Poll();
  EXPECT_EQ(connection.told, 0) << "not for every little room";
  ASSERT_EQ(exchange->ReadBody(part.data(), 1, &read), ExchangeResult::kOk);
  harness.Poll();
  EXPECT_EQ(connection.told, 1);
  EXPECT_EQ(exchange->BodyRoom(), kExchangeWindow / 2 + 1);
}

TEST_F(HttpExchangeTest, TrailersAreShownWithTheEnd) {
  const auto exchange = Open(kPost);
  const std::vector<std::pair<std::string, std::string>> trailers = {{"A", "1"}};
  exchange->AddBody("x");
  exchange->CompleteBody(&trailers);
  EXPECT_TRUE(exchange->trailers().empty());
  std::array<char, 10> part;
  size_t read = 0;
  EXPECT_EQ(exchange->ReadBody(part.data(), 0, &read), ExchangeResult::kInvalid);
  EXPECT_EQ(exchange->ReadBody(part.data(), part.size(), &read), ExchangeResult::kOk);
  EXPECT_EQ(exchange->ReadBody(part.data(), part.size(), &read), ExchangeResult::kEnd);
  ASSERT_EQ(exchange->trailers().size(), 1u);
  EXPECT_EQ(exchange->trailers()[0].value, "1");
}

TEST_F(HttpExchangeTest, AfterItsEndEverythingIsGone) {
  const auto exchange = Open(kPost);
  exchange->EndForService();
  std::array<char, 10> part;
  size_t read = 0;
  EXPECT_EQ(exchange->ReadBody(part.data(), part.size(), &read), ExchangeResult::kGone);
  EXPECT_EQ(exchange->Respond(200, {}, ""), ExchangeResult::kGone);
  EXPECT_EQ(exchange->SendHead(200, {}, 1), ExchangeResult::kGone);
  EXPECT_EQ(exchange->WriteBody("x"), ExchangeResult::kGone);
  EXPECT_EQ(exchange->Finish({}), ExchangeResult::kGone);
  exchange->Abort();
  EXPECT_EQ(Output(*exchange), "");
}

}  // namespace
}  // namespace cohost::worker
