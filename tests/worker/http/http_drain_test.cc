// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/worker/http/http_harness.h"
#include "worker/http/http_server.h"

namespace cohost::worker {
namespace {

constexpr std::string_view kGet = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

bool SaysClose(const std::string& answer) {
  return answer.find("\r\nConnection: close\r\n") != std::string::npos;
}

class HttpDrainTest : public ::testing::Test {
 protected:
  HttpServer::DrainDone Done() {
    return [this](DrainResult result) {
      EXPECT_FALSE(done.has_value());
      done = result;
    };
  }
  HttpServer::HandOver Keep() {
    return [this](UniqueFd fd, uint64_t id) {
      handed.push_back(std::move(fd));
      handed_ids.push_back(id);
    };
  }

  HttpHarness harness;
  std::vector<std::shared_ptr<Exchange>> kept;
  ServiceEntry& entry =
      harness.AddService(Dispatch::kInline, [this](auto exchange) { kept.push_back(exchange); });
  std::optional<DrainResult> done;
  std::vector<UniqueFd> handed;
  std::vector<uint64_t> handed_ids;
};

TEST_F(HttpDrainTest, EndsAtOnceWhenNothingIsThere) {
  harness.server->DrainService(entry, absl::Seconds(30), CancelReason::kRemoved, nullptr, Done());
  EXPECT_EQ(entry.state(), RowState::kDraining);
  harness.Poll();
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->cancelled, 0u);
  EXPECT_TRUE(harness.table.Remove(entry).ok());
}

TEST_F(HttpDrainTest, FinishesWhatIsInFlight) {
  HttpTestClient client(harness, entry);
  client.Send(std::string(kGet) + std::string(kGet));
  harness.server->DrainService(entry, absl::Seconds(30), CancelReason::kRemoved, nullptr, Done());
  harness.Poll();
  EXPECT_FALSE(done.has_value());
  EXPECT_FALSE(harness.table.Remove(entry).ok());
  kept.at(0)->Respond(200, {}, "last");
  const std::string answer = client.Receive();
  EXPECT_TRUE(SaysClose(answer));
  EXPECT_EQ(answer.substr(answer.size() - 4), "last");
  EXPECT_TRUE(client.closed());
  EXPECT_EQ(kept.size(), 1u) << "what was pipelined behind `close` is not answered";
  client.Close();
  harness.Poll();
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->cancelled, 0u);
}

TEST_F(HttpDrainTest, HandsIdleConnectionsToTheSuccessor) {
  HttpTestClient idle(harness, entry);
  idle.Send(kGet);
  kept.at(0)->Respond(200, {}, "");
  EXPECT_FALSE(SaysClose(idle.Receive()));
  HttpTestClient fresh(harness, entry);
  harness.server->DrainAll(absl::Seconds(30), Keep(), Done());
  harness.Poll();
  ASSERT_TRUE(done.has_value());
  ASSERT_EQ(handed.size(), 2u);
  EXPECT_EQ(handed_ids[0], entry.id());
  // The successor serves them; nothing was lost, not even what comes while they travel.
  idle.Send(kGet);
  HttpHarness successor;
  ServiceEntry& next = successor.AddService(
      Dispatch::kInline, [](auto exchange) { exchange->Respond(200, {}, "successor"); });
  for (UniqueFd& fd : handed) {
    successor.server->Serve(std::move(fd), next, Arrival::kAdopted, "unix", /*listener=*/0);
  }
  successor.Poll();
  EXPECT_NE(idle.Receive().find("successor"), std::string::npos);
  fresh.Send(kGet);
  successor.Poll();
  EXPECT_NE(fresh.Receive().find("successor"), std::string::npos);
}

TEST_F(HttpDrainTest, ARequestThatCameJustBeforeTheHandOverIsAnsweredHere) {
  HttpTestClient client(harness, entry);
  ASSERT_EQ(::send(client.fd(), kGet.data(), kGet.size(), 0), static_cast<ssize_t>(kGet.size()));
  // Read by the kernel's event, not yet by the connection.
  harness.server->DrainService(entry, absl::Seconds(30), CancelReason::kRemoved, Keep(), Done());
  harness.Poll();
  if (handed.empty()) {
    kept.at(0)->Respond(200, {}, "here");
    EXPECT_TRUE(SaysClose(client.Receive()));
  } else {
    // Or it went along, unread.
    EXPECT_TRUE(kept.empty());
  }
}

TEST_F(HttpDrainTest, PartOfAHeadStaysAndIsAnswered) {
  HttpTestClient client(harness, entry);
  client.Send(kGet.substr(0, 10));
  harness.server->DrainService(entry, absl::Seconds(30), CancelReason::kRemoved, Keep(), Done());
  harness.Poll();
  EXPECT_TRUE(handed.empty());
  client.Send(kGet.substr(10));
  kept.at(0)->Respond(200, {}, "");
  EXPECT_TRUE(SaysClose(client.Receive()));
}

TEST_F(HttpDrainTest, AConnectionThatBecomesIdleWithoutHavingSaidCloseIsHandedOver) {
  HttpTestClient client(harness, entry);
  client.Send(kGet);
  kept.at(0)->SendHead(200, {}, 1);
  harness.Poll();
  harness.server->DrainService(entry, absl::Seconds(30), CancelReason::kRemoved, Keep(), Done());
  kept.at(0)->WriteBody("x");
  kept.at(0)->Finish({});
  harness.Poll();
  EXPECT_FALSE(SaysClose(client.Receive()));
  EXPECT_EQ(handed.size(), 1u);
  EXPECT_TRUE(done.has_value());
}

TEST_F(HttpDrainTest, WithoutASuccessorIdleConnectionsAreClosedGracefully) {
  HttpTestClient client(harness, entry);
  client.Send(kGet);
  kept.at(0)->Respond(200, {}, "");
  EXPECT_FALSE(SaysClose(client.Receive()));
  harness.server->DrainService(entry, absl::Seconds(30), CancelReason::kRemoved, nullptr, Done());
  EXPECT_TRUE(client.closed());
  EXPECT_EQ(harness.server->connections(), 1u);
  client.Send(std::string(1000, 'x'));
  harness.Advance(absl::Seconds(3));
  EXPECT_EQ(harness.server->connections(), 0u);
  EXPECT_TRUE(done.has_value());
}

TEST_F(HttpDrainTest, SOK_01_WhoHasJustConnectedIsAnsweredWithoutASuccessor) {
  HttpTestClient client(harness, entry, Arrival::kAccepted);
  harness.server->DrainService(entry, absl::Seconds(30), CancelReason::kRemoved, nullptr, Done());
  harness.Poll();
  EXPECT_FALSE(client.closed());
  EXPECT_FALSE(done.has_value());
  client.Send(kGet);
  kept.at(0)->Respond(200, {}, "last");
  EXPECT_TRUE(SaysClose(client.Receive()));
  EXPECT_TRUE(client.closed());
  client.Close();
  harness.Poll();
  EXPECT_TRUE(done.has_value());
}

TEST_F(HttpDrainTest, WhoHasJustConnectedAndSaysNothingIsClosedSoon) {
  HttpTestClient client(harness, entry, Arrival::kAccepted);
  harness.server->DrainService(entry, absl::Seconds(30), CancelReason::kRemoved, nullptr, Done());
  harness.Advance(absl::Milliseconds(1100));
  EXPECT_TRUE(client.closed());
  client.Close();
  harness.Poll();
  EXPECT_TRUE(done.has_value());
}

TEST_F(HttpDrainTest, CancelsAtTheLimit) {
  HttpTestClient client(harness, entry);
  client.Send(kGet);
  harness.server->DrainAll(absl::Seconds(10), Keep(), Done());
  harness.Advance(absl::Seconds(9));
  EXPECT_FALSE(done.has_value());
  harness.Advance(absl::Seconds(2));
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->cancelled, 1u);
  EXPECT_EQ(done->running, 0u);
  EXPECT_EQ(harness.hosted(entry).ended.at(0), CancelReason::kDraining);
  EXPECT_EQ(kept.at(0)->Respond(200, {}, ""), ExchangeResult::kGone);
  EXPECT_TRUE(client.closed());
}

TEST_F(HttpDrainTest, SaysHowManyCallsStillRun) {
  std::atomic<bool> release{false};
  std::atomic<bool> begun{false};
  ServiceEntry& hung = harness.AddService(Dispatch::kPool, [&](auto) {
    begun = true;
    while (!release) std::this_thread::yield();
  });
  HttpTestClient client(harness, hung);
  client.Send(kGet);
  ASSERT_TRUE(harness.RunUntil([&] { return begun.load(); }));
  harness.server->DrainService(hung, absl::Seconds(1), CancelReason::kRemoved, nullptr, Done());
  harness.Advance(absl::Seconds(2));
  EXPECT_FALSE(done.has_value());
  harness.Advance(absl::Seconds(2));
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->running, 1u);
  release = true;
  ASSERT_TRUE(harness.RunUntil([&] { return hung.admission().calls() == 0; }));
  EXPECT_TRUE(harness.table.Remove(hung).ok());
}

TEST_F(HttpDrainTest, ConnectionsThatComeLateAreDrainedToo) {
  HttpTestClient busy(harness, entry);
  busy.Send(kGet);
  harness.server->DrainService(entry, absl::Seconds(30), CancelReason::kRemoved, Keep(), Done());
  HttpTestClient late(harness, entry, Arrival::kAccepted);
  EXPECT_EQ(handed.size(), 1u);
  EXPECT_FALSE(late.closed());
  EXPECT_FALSE(done.has_value());
  kept.at(0)->Respond(200, {}, "");
  busy.Receive();
  busy.Close();
  harness.Poll();
  EXPECT_TRUE(done.has_value());
}

TEST_F(HttpDrainTest, ASecondDrainWaitsForTheFirstAndMayShortenIt) {
  HttpTestClient client(harness, entry);
  client.Send(kGet);
  int first = 0;
  harness.server->DrainService(entry, absl::Hours(1), CancelReason::kRemoved, nullptr,
                               [&](DrainResult) { ++first; });
  harness.server->DrainAll(absl::Seconds(1), nullptr, Done());
  harness.Advance(absl::Seconds(2));
  EXPECT_EQ(first, 1);
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->cancelled, 1u);
}

TEST_F(HttpDrainTest, NeighboursDoNotNotice) {
  ServiceEntry& neighbour = harness.AddService(
      Dispatch::kInline, [](auto exchange) { exchange->Respond(200, {}, "here"); });
  HttpTestClient client(harness, neighbour);
  harness.server->DrainService(entry, absl::Seconds(30), CancelReason::kRemoved, nullptr, Done());
  harness.Poll();
  EXPECT_FALSE(SaysClose(client.Ask(kGet)));
  EXPECT_FALSE(client.closed());
}

}  // namespace
}  // namespace cohost::worker
