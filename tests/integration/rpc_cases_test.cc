// SPDX-License-Identifier: Apache-2.0
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "tests/support/http_client.h"
#include "tests/support/process_view.h"
#include "tests/support/test_host.h"
#include "tests/support/wait.h"

// Cases RPC: the channels between supervisor, workers and clients of a whole host.
namespace cohost::testing {
namespace {

// A probe may take 5 s and its answer 2 s more, and three misses in a row are a fault.
constexpr absl::Duration kDetection = absl::Milliseconds(5000 + 2000 + 3 * 200);

// Two workers beside the one that is made to fail: when most miss their probes together it counts
// as overload and nothing is done about single ones.
constexpr char kThree[] = R"(
group_defaults: {health: {interval: 200ms}, recycle: {drain_timeout: 1s}, stop_timeout: 1s}
grouping: {max_services_per_worker: 1}
services:
  - {name: a, runtime: native, module: "${echo}", listen: ["http://127.0.0.1:0"]}
  - {name: b, runtime: native, module: "${echo}", listen: ["http://127.0.0.1:0"]}
  - {name: c, runtime: native, module: "${echo}", listen: ["http://127.0.0.1:0"]}
)";

std::string SlotOf(const TestHost& host, const std::string& service) {
  return absl::StrCat(host.Service(service)->group(), "/0");
}

absl::StatusOr<HttpAnswer> Get(const TestHost& host, const std::string& service) {
  COHOST_ASSIGN_OR_RETURN(HttpClient client, HttpClient::Connect(host.Port(service)));
  return client.Get("/");
}

std::set<std::string> SocketsOf(pid_t pid) {
  std::set<std::string> sockets;
  for (const auto& [number, target] : DescriptorsOf(pid)) {
    if (target.rfind("socket:", 0) == 0) sockets.insert(target);
  }
  return sockets;
}

// Events that tell of a worker that left `ready`, was replaced, or lost a channel.
std::vector<std::string> Troubles(const TestHost& host) {
  std::vector<std::string> troubles;
  for (const auto& event : host.Events()) {
    const bool left_ready = event.kind() == "worker_state" && event.from() == "ready";
    if (left_ready || event.kind() == "recycle" || event.kind() == "worker_remark") {
      troubles.push_back(absl::StrCat(event.kind(), " ", event.to(), " ", event.message()));
    }
  }
  return troubles;
}

TEST(RpcCases, RPC_01_UnreadStreamsAndABusyHandlerDoNotKeepTheHostFromEnding) {
  const auto host = TestHost::StartOrDie({R"(
groups: [{name: g, recycle: {drain_timeout: 1s}, stop_timeout: 1s}]
services:
  - {name: hang, runtime: native, module: "${hang}", group: g, listen: ["http://127.0.0.1:0"]}
)",
                                          {},
                                          {}});
  auto busy = HttpClient::Connect(host->Port("hang"));
  ASSERT_TRUE(busy.ok());
  ASSERT_TRUE(busy->Send("GET /hang HTTP/1.1\r\nHost: a\r\n\r\n").ok());
  ASSERT_TRUE(Eventually([&] { return host->Service("hang")->in_flight() == 1; }));

  const auto stub = host->Connect();
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::unique_ptr<grpc::ClientReader<admin::v1::Event>>> events;
  std::vector<std::unique_ptr<grpc::ClientReader<admin::v1::LogLine>>> logs;
  admin::v1::WatchEventsRequest watch_events;
  watch_events.set_follow(true);
  admin::v1::WatchLogsRequest watch_logs;
  watch_logs.set_group("g");
  watch_logs.set_last(100);
  watch_logs.set_follow(true);
  for (int i = 0; i < 5; ++i) {
    contexts.push_back(std::make_unique<grpc::ClientContext>());
    events.push_back(stub->WatchEvents(contexts.back().get(), watch_events));
    events.back()->WaitForInitialMetadata();
    contexts.push_back(std::make_unique<grpc::ClientContext>());
    logs.push_back(stub->WatchLogs(contexts.back().get(), watch_logs));
    logs.back()->WaitForInitialMetadata();
  }
  const absl::Time begin = absl::Now();
  const auto ended = host->Stop();
  ASSERT_TRUE(ended.has_value()) << host->Log();
  // 1 s to drain and as much to stop, with a margin for each and a second for the machine.
  EXPECT_LT(absl::Now() - begin, absl::Seconds(8));
  EXPECT_EQ(ended->exit_code, 0) << host->Log();
  for (auto& context : contexts) context->TryCancel();
  for (auto& reader : events) (void)reader->Finish();
  for (auto& reader : logs) (void)reader->Finish();
}

// The case idles for 15 minutes with pings every few seconds; at five probes a second 4 s have as
// many calls on each channel as a minute and a half of production.
TEST(RpcCases, RPC_02_AnIdleChannelIsNeverMadeAgain) {
  const auto host = TestHost::StartOrDie({kThree, {}, {}});
  const auto workers = host->WorkerPids();
  ASSERT_EQ(workers.size(), 3u);
  std::map<std::string, std::set<std::string>> before;
  for (const auto& [slot, pid] : workers) before[slot] = SocketsOf(pid);
  EXPECT_FALSE(WaitReadable(host->keeper().pidfd(), absl::Seconds(4))) << "the host has ended";
  EXPECT_EQ(host->WorkerPids(), workers);
  for (const auto& [slot, pid] : workers) EXPECT_EQ(SocketsOf(pid), before[slot]) << slot;
  EXPECT_EQ(Troubles(*host), std::vector<std::string>());
}

TEST(RpcCases, RPC_02_AFrozenWorkerIsSeenAndReplacedInTheStatedTime) {
  const auto host = TestHost::StartOrDie({kThree, {}, {}});
  const auto before = host->WorkerPids();
  const std::string slot = SlotOf(*host, "a");
  const pid_t frozen = before.at(slot);
  ASSERT_EQ(kill(frozen, SIGSTOP), 0);
  const absl::Time begin = absl::Now();
  ASSERT_TRUE(Eventually([&] {
    const auto pids = host->WorkerPids();
    return pids.contains(slot) && pids.at(slot) != frozen;
  })) << host->Log();
  EXPECT_LT(absl::Now() - begin, kDetection + absl::Seconds(2)) << host->Log();
  const auto answer = Get(*host, "a");
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(std::stoi(answer->body), host->WorkerPids().at(slot));
  // It cannot drain, and a stop does not wake it: it is killed.
  EXPECT_TRUE(Eventually([&] { return !IsAlive(frozen); }, absl::Seconds(60))) << host->Log();
  const auto after = host->WorkerPids();
  for (const auto& [name, pid] : before) {
    if (name != slot) {
      EXPECT_EQ(after.at(name), pid) << name << " had nothing to do with it";
    }
  }
}

// The case is away for 6, 30 and 120 s. Below the detection time nothing may happen at all, and
// there is no back-off that would grow with the time: the channel is a socketpair.
TEST(RpcCases, RPC_03_AWorkerThatWasAwayIsGoodAgainAtOnce) {
  const auto host = TestHost::StartOrDie({kThree, {}, {}});
  const auto before = host->WorkerPids();
  const pid_t away = before.at(SlotOf(*host, "a"));
  const auto sockets = SocketsOf(away);
  ASSERT_EQ(kill(away, SIGSTOP), 0);
  auto client = std::make_unique<HttpClient>(*HttpClient::Connect(host->Port("a")));
  EXPECT_FALSE(WaitReadable(host->keeper().pidfd(), absl::Seconds(3)));
  ASSERT_EQ(kill(away, SIGCONT), 0);
  const absl::Time begin = absl::Now();
  const auto answer = client->Get("/");
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_LT(absl::Now() - begin, absl::Seconds(1));
  client.reset();
  // Long enough for a probe that was under way to have been counted as missed.
  EXPECT_FALSE(WaitReadable(host->keeper().pidfd(), absl::Seconds(3)));
  EXPECT_EQ(host->WorkerPids(), before);
  EXPECT_EQ(SocketsOf(away), sockets);
  EXPECT_EQ(Troubles(*host), std::vector<std::string>());
}

TEST(RpcCases, RPC_03_ASupervisorThatWasAwayAnswersAtOnceAndBlamesNobody) {
  const auto host = TestHost::StartOrDie({kThree, {}, {}});
  const auto before = host->WorkerPids();
  const pid_t supervisor = host->SupervisorPid();
  ASSERT_EQ(kill(supervisor, SIGSTOP), 0);
  // Longer than a probe may take: those under way expire while nobody looks.
  EXPECT_FALSE(WaitReadable(host->keeper().pidfd(), kDetection + absl::Seconds(1)));
  EXPECT_EQ(Get(*host, "a")->status, 200);
  ASSERT_EQ(kill(supervisor, SIGCONT), 0);
  const absl::Time begin = absl::Now();
  EXPECT_TRUE(host->Status()->healthy());
  EXPECT_LT(absl::Now() - begin, absl::Seconds(1));
  EXPECT_FALSE(WaitReadable(host->keeper().pidfd(), absl::Seconds(2)));
  EXPECT_EQ(host->SupervisorPid(), supervisor);
  EXPECT_EQ(host->WorkerPids(), before);
  EXPECT_EQ(Troubles(*host), std::vector<std::string>());
}

TEST(RpcCases, RPC_03_ANewWorkerHasAChannelOfItsOwn) {
  const auto host = TestHost::StartOrDie({kThree, {}, {}});
  const std::string slot = SlotOf(*host, "a");
  const pid_t first = host->WorkerPids().at(slot);
  const auto old_sockets = SocketsOf(first);
  ASSERT_EQ(kill(first, SIGKILL), 0);
  ASSERT_TRUE(Eventually([&] {
    const auto pids = host->WorkerPids();
    return pids.contains(slot) && pids.at(slot) != first;
  })) << host->Log();
  // What both had is the listener alone.
  std::vector<std::string> common;
  const auto sockets = SocketsOf(host->WorkerPids().at(slot));
  std::set_intersection(sockets.begin(), sockets.end(), old_sockets.begin(), old_sockets.end(),
                        std::back_inserter(common));
  EXPECT_EQ(common.size(), 1u);
}

}  // namespace
}  // namespace cohost::testing
