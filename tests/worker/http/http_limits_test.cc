// SPDX-License-Identifier: Apache-2.0
//
// Time limits, places in the service's code, and what the segment says of them.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "tests/worker/http/http_harness.h"
#include "worker/http/http_server.h"

namespace cohost::worker {
namespace {

constexpr std::string_view kGet = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

uint64_t Hits(ServiceEntry& entry, LimitHit hit) {
  return entry.counters().limit_hits[static_cast<size_t>(hit)].load();
}

std::string StatusOf(const std::string& answer) { return answer.substr(0, 12); }

// A service that keeps its exchanges.
class HttpLimitsTest : public ::testing::Test {
 protected:
  ServiceEntry& AddKeeper(ServiceLimits limits = {}) {
    return harness.AddService(
        Dispatch::kInline, [this](auto exchange) { kept.push_back(exchange); }, limits);
  }

  HttpHarness harness;
  std::vector<std::shared_ptr<Exchange>> kept;
};

TEST_F(HttpLimitsTest, ClosesAnIdleConnectionAfterItsTime) {
  ServiceEntry& entry = AddKeeper();
  HttpTestClient client(harness, entry);
  harness.Advance(absl::Seconds(74));
  EXPECT_FALSE(client.closed());
  client.Send(kGet);
  kept.at(0)->Respond(200, {}, "");
  harness.Poll();
  harness.Advance(absl::Seconds(74));
  EXPECT_FALSE(client.closed());
  harness.Advance(absl::Seconds(2));
  EXPECT_EQ(StatusOf(client.Receive()), "HTTP/1.1 200");
  EXPECT_TRUE(client.closed());
  EXPECT_EQ(Hits(entry, LimitHit::kClientTimeout), 0u);
}

TEST_F(HttpLimitsTest, AHeadThatTakesTooLongIs408) {
  ServiceEntry& entry = AddKeeper();
  HttpTestClient client(harness, entry);
  // Byte after byte does not buy time.
  for (int i = 0; i < 9; ++i) {
    client.Send(std::string_view(kGet).substr(static_cast<size_t>(i), 1));
    harness.Advance(absl::Seconds(1));
  }
  EXPECT_EQ(client.Receive(), "");
  harness.Advance(absl::Seconds(2));
  EXPECT_EQ(StatusOf(client.Receive()), "HTTP/1.1 408");
  EXPECT_TRUE(kept.empty());
  EXPECT_EQ(Hits(entry, LimitHit::kClientTimeout), 1u);
  // The client does not close: then the server does.
  EXPECT_EQ(harness.server->connections(), 1u);
  harness.Advance(absl::Seconds(3));
  EXPECT_EQ(harness.server->connections(), 0u);
}

TEST_F(HttpLimitsTest, ABodyThatStopsIs408) {
  ServiceEntry& entry = AddKeeper({.request_timeout = absl::Hours(1)});
  HttpTestClient client(harness, entry);
  client.Send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\na");
  harness.Advance(absl::Seconds(29));
  client.Send("b");
  harness.Advance(absl::Seconds(29));
  EXPECT_EQ(client.Receive(), "");
  harness.Advance(absl::Seconds(2));
  EXPECT_EQ(StatusOf(client.Receive()), "HTTP/1.1 408");
  EXPECT_EQ(harness.hosted(entry).ended.at(0), CancelReason::kClientGone);
  EXPECT_EQ(kept.at(0)->Respond(200, {}, ""), ExchangeResult::kGone);
}

TEST_F(HttpLimitsTest, AServiceThatDoesNotReadIsNotTheClientsDelay) {
  ServiceEntry& entry = AddKeeper({.request_timeout = absl::Hours(1)});
  HttpTestClient client(harness, entry);
  client.Send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 300000\r\n\r\n");
  client.Send(std::string(300'000, 'x'));
  harness.Advance(absl::Minutes(5));
  std::vector<char> part(65536);
  size_t read = 0;
  EXPECT_EQ(kept.at(0)->ReadBody(part.data(), part.size(), &read), ExchangeResult::kOk);
  harness.Poll();
  harness.Advance(absl::Seconds(1));
  EXPECT_EQ(client.Receive(), "");
  EXPECT_EQ(Hits(entry, LimitHit::kClientTimeout), 0u);
}

TEST_F(HttpLimitsTest, AClientThatTakesNothingIsCutOff) {
  ServiceEntry& entry = AddKeeper();
  HttpTestClient client(harness, entry);
  client.Send(kGet);
  kept.at(0)->Respond(200, {}, std::string(5'000'000, 'x'));
  harness.Poll();
  // Answered: the client's time is not the service's.
  EXPECT_EQ(entry.admission().active(), 0u);
  EXPECT_EQ(entry.row().oldest_request_ns.load(), 0u);
  harness.Advance(absl::Seconds(29));
  EXPECT_EQ(harness.server->connections(), 1u);
  harness.Advance(absl::Seconds(2));
  EXPECT_EQ(harness.server->connections(), 0u);
  EXPECT_EQ(Hits(entry, LimitHit::kClientTimeout), 1u);
  EXPECT_EQ(harness.hosted(entry).ended.at(0), std::nullopt);
  EXPECT_EQ(entry.counters().answered[0].load(), 1u);
}

TEST_F(HttpLimitsTest, AServiceThatDoesNotAnswerIs504) {
  ServiceEntry& entry = AddKeeper();
  HttpTestClient client(harness, entry);
  client.Send(kGet);
  harness.Advance(absl::Seconds(29));
  EXPECT_EQ(client.Receive(), "");
  harness.Advance(absl::Seconds(2));
  EXPECT_EQ(StatusOf(client.Receive()), "HTTP/1.1 504");
  EXPECT_EQ(harness.hosted(entry).ended.at(0), CancelReason::kRequestTimeout);
  EXPECT_EQ(kept.at(0)->Respond(200, {}, ""), ExchangeResult::kGone);
  EXPECT_EQ(kept.at(0)->SendHead(200, {}, 0), ExchangeResult::kGone);
  EXPECT_EQ(Hits(entry, LimitHit::kRequestTimeout), 1u);
  EXPECT_EQ(entry.counters().answered[5].load(), 1u);
  // The connection goes on.
  client.Send(kGet);
  kept.at(1)->Respond(200, {}, "");
  EXPECT_EQ(StatusOf(client.Receive()), "HTTP/1.1 200");
}

TEST_F(HttpLimitsTest, AnAnswerThatHasBegunHasNoRequestTimeout) {
  ServiceEntry& entry = AddKeeper();
  HttpTestClient client(harness, entry);
  client.Send(kGet);
  kept.at(0)->SendHead(200, {}, 2);
  harness.Poll();
  harness.Advance(absl::Minutes(10));
  EXPECT_EQ(kept.at(0)->WriteBody("ok"), ExchangeResult::kOk);
  EXPECT_EQ(kept.at(0)->Finish({}), ExchangeResult::kOk);
  EXPECT_EQ(StatusOf(client.Receive()), "HTTP/1.1 200");
}

TEST_F(HttpLimitsTest, WaitersAreToldWhenTheExchangeIsGone) {
  ServiceEntry& entry = AddKeeper();
  HttpTestClient client(harness, entry);
  client.Send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n");
  int called = 0;
  kept.at(0)->OnReadable([&] { ++called; });
  harness.Poll();
  EXPECT_EQ(called, 0);
  harness.Advance(absl::Seconds(31));
  EXPECT_EQ(called, 1);
  // Also one who comes later.
  kept.at(0)->OnReadable([&] { ++called; });
  harness.Poll();
  EXPECT_EQ(called, 2);
}

TEST_F(HttpLimitsTest, QueuesBehindConcurrencyAndRefusesBehindTheQueue) {
  ServiceEntry& entry = AddKeeper({.concurrency = 2, .queue = 2});
  std::vector<std::unique_ptr<HttpTestClient>> clients;
  for (int i = 0; i < 5; ++i) {
    clients.push_back(std::make_unique<HttpTestClient>(harness, entry));
    clients.back()->Send(kGet);
    harness.clock.Advance(absl::Milliseconds(1));
  }
  EXPECT_EQ(kept.size(), 2u);
  EXPECT_EQ(entry.row().queued.load(), 2u);
  EXPECT_EQ(entry.gauges(harness.clock.Steady()).in_flight, 2u);
  EXPECT_EQ(entry.gauges(harness.clock.Steady()).oldest_request_age, absl::Milliseconds(5));
  EXPECT_EQ(entry.gauges(harness.clock.Steady()).oldest_queued_age, absl::Milliseconds(3));
  const std::string refused = clients[4]->Receive();
  EXPECT_EQ(StatusOf(refused), "HTTP/1.1 503");
  EXPECT_NE(refused.find("\r\nRetry-After: 1\r\n"), std::string::npos);
  EXPECT_FALSE(clients[4]->closed());
  EXPECT_EQ(Hits(entry, LimitHit::kQueueFull), 1u);
  // In order, one for each that ends.
  kept[0]->Respond(200, {}, "");
  harness.Poll();
  ASSERT_EQ(kept.size(), 3u);
  EXPECT_EQ(entry.row().queued.load(), 1u);
  kept[1]->Respond(200, {}, "");
  kept[2]->Respond(200, {}, "");
  harness.Poll();
  ASSERT_EQ(kept.size(), 4u);
  EXPECT_EQ(StatusOf(clients[2]->Receive()), "HTTP/1.1 200");
  kept[3]->Respond(200, {}, "");
  EXPECT_EQ(StatusOf(clients[3]->Receive()), "HTTP/1.1 200");
  EXPECT_EQ(entry.row().oldest_queued_ns.load(), 0u);
  EXPECT_EQ(entry.row().oldest_request_ns.load(), 0u);
}

TEST_F(HttpLimitsTest, AQueuedRequestThatTimesOutNeverComesToTheService) {
  ServiceEntry& entry = AddKeeper({.concurrency = 1, .queue = 1});
  HttpTestClient first(harness, entry);
  HttpTestClient second(harness, entry);
  first.Send(kGet);
  second.Send(kGet);
  harness.Advance(absl::Seconds(31));
  EXPECT_EQ(StatusOf(first.Receive()), "HTTP/1.1 504");
  EXPECT_EQ(StatusOf(second.Receive()), "HTTP/1.1 504");
  // The first one's end let the second one in, unless that had timed out first: either way each
  // exchange that the service got has ended once.
  EXPECT_EQ(kept.size(), harness.hosted(entry).ended.size());
  EXPECT_EQ(entry.admission().active(), 0u);
  EXPECT_EQ(entry.admission().queued(), 0u);
}

TEST_F(HttpLimitsTest, APooledServiceRunsOnOtherThreadsUpToItsConcurrency) {
  std::atomic<int> running{0};
  std::atomic<int> most{0};
  std::atomic<bool> release{false};
  ServiceEntry& entry = harness.AddService(
      Dispatch::kPool,
      [&](std::shared_ptr<Exchange> exchange) {
        const int now = ++running;
        for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
        }
        while (!release) std::this_thread::yield();
        --running;
        exchange->Respond(200, {}, "done");
      },
      {.concurrency = 3});
  std::vector<std::unique_ptr<HttpTestClient>> clients;
  for (int i = 0; i < 6; ++i) {
    clients.push_back(std::make_unique<HttpTestClient>(harness, entry));
    clients.back()->Send(kGet);
  }
  ASSERT_TRUE(harness.RunUntil([&] { return running == 3; }));
  EXPECT_EQ(entry.admission().queued(), 3u);
  release = true;
  ASSERT_TRUE(harness.RunUntil([&] { return entry.counters().finished.load() == 6; }));
  for (const auto& client : clients) EXPECT_EQ(StatusOf(client->Receive()), "HTTP/1.1 200");
  EXPECT_EQ(most, 3);
  ASSERT_TRUE(harness.RunUntil([&] { return entry.admission().calls() == 0; }));
  EXPECT_EQ(entry.admission().active(), 0u);
}

TEST_F(HttpLimitsTest, ASerialServiceRunsOneCallAtATime) {
  std::atomic<int> running{0};
  std::atomic<bool> overlapped{false};
  ServiceEntry& entry = harness.AddService(Dispatch::kSerial, [&](auto exchange) {
    if (++running > 1) overlapped = true;
    std::this_thread::yield();
    --running;
    exchange->Respond(200, {}, "done");
  });
  std::vector<std::unique_ptr<HttpTestClient>> clients;
  for (int i = 0; i < 50; ++i) {
    clients.push_back(std::make_unique<HttpTestClient>(harness, entry));
    clients.back()->Send(kGet);
  }
  ASSERT_TRUE(harness.RunUntil([&] { return entry.counters().finished.load() == 50; }));
  EXPECT_FALSE(overlapped);
}

TEST_F(HttpLimitsTest, AHungCallKeepsItsPlaceAndShowsItsAgeAfterThe504) {
  std::atomic<bool> release{false};
  std::atomic<bool> begun{false};
  ServiceEntry& entry = harness.AddService(Dispatch::kPool,
                                           [&](auto) {
                                             begun = true;
                                             while (!release) std::this_thread::yield();
                                           },
                                           {.concurrency = 1, .queue = 0});
  HttpTestClient client(harness, entry);
  client.Send(kGet);
  ASSERT_TRUE(harness.RunUntil([&] { return begun.load(); }));
  harness.Advance(absl::Seconds(31));
  EXPECT_EQ(StatusOf(client.Receive()), "HTTP/1.1 504");
  harness.Advance(absl::Seconds(10));
  EXPECT_EQ(entry.gauges(harness.clock.Steady()).oldest_request_age, absl::Seconds(41));
  EXPECT_EQ(StatusOf(client.Ask(kGet)), "HTTP/1.1 503");
  release = true;
  ASSERT_TRUE(harness.RunUntil([&] { return entry.admission().calls() == 0; }));
  EXPECT_EQ(entry.admission().active(), 0u);
  EXPECT_EQ(entry.row().oldest_request_ns.load(), 0u);
}

TEST_F(HttpLimitsTest, TheThreadSlotNamesTheServiceWhileItRuns) {
  uint32_t row = 0;
  uint32_t state = 0;
  ServiceEntry& entry = harness.AddService(Dispatch::kInline, [&](auto exchange) {
    row = harness.slots.Current().row.load();
    state = harness.slots.Current().state.load();
    exchange->Respond(200, {}, "");
  });
  HttpTestClient client(harness, entry);
  client.Ask(kGet);
  EXPECT_EQ(row, entry.row_index());
  EXPECT_EQ(state, static_cast<uint32_t>(ThreadState::kInService));
  EXPECT_EQ(harness.slots.Current().row.load(), kNoRow);
}

TEST_F(HttpLimitsTest, LatencyIsMeasuredUntilTheKernelHasTheAnswer) {
  ServiceEntry& entry = AddKeeper();
  HttpTestClient client(harness, entry);
  client.Send(kGet);
  harness.clock.Advance(absl::Milliseconds(30));
  kept.at(0)->Respond(200, {}, "");
  harness.Poll();
  const ServiceCounters& counters = entry.counters();
  EXPECT_EQ(counters.latency_sum_ns.load(), 30'000'000u);
  EXPECT_EQ(counters.latency[LatencyBucket(absl::Milliseconds(30))].load(), 1u);
  EXPECT_EQ(LatencyBucket(absl::Milliseconds(30)), 6u);
  EXPECT_EQ(LatencyBucket(absl::ZeroDuration()), 0u);
  EXPECT_EQ(LatencyBucket(absl::Microseconds(500)), 0u);
  EXPECT_EQ(LatencyBucket(absl::Hours(1)), kLatencyBuckets - 1);
}

TEST_F(HttpLimitsTest, RoomIsToldWhenTheAcceptThreadWaitsForIt) {
  ServiceEntry& entry = AddKeeper({.connections = 1});
  auto client = std::make_unique<HttpTestClient>(harness, entry, Arrival::kAccepted);
  EXPECT_EQ(entry.counters().connections.load(), 1u);
  EXPECT_FALSE(entry.gate()->HasRoom());
  entry.gate()->WaitForRoom();
  client->Close();
  harness.Poll();
  EXPECT_TRUE(entry.gate()->HasRoom());
  EXPECT_EQ(harness.rooms, std::vector<uint64_t>{entry.id()});
}

TEST_F(HttpLimitsTest, ProbesAreNotConnectionsOfClients) {
  ServiceEntry& entry = AddKeeper();
  HttpTestClient client(harness, entry, Arrival::kInternal);
  EXPECT_EQ(entry.counters().connections.load(), 0u);
  EXPECT_EQ(entry.row().last_accept_ns.load(), 0u);
  EXPECT_EQ(entry.gate()->open(), 1u);
}

}  // namespace
}  // namespace cohost::worker
