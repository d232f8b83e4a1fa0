// SPDX-License-Identifier: Apache-2.0
#include "worker/worker_drain.h"

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/system/seqpacket.h"
#include "gtest/gtest.h"
#include "tests/worker/worker_harness.h"

namespace cohost::worker {
namespace {

constexpr absl::Duration kLong = absl::Hours(1);
constexpr absl::Duration kShort = absl::Milliseconds(30);
// What a drain may take beyond its limit, and a loaded machine.
constexpr absl::Duration kBeyond = absl::Seconds(8);

class WorkerDrainTest : public ::testing::Test {
 protected:
  ~WorkerDrainTest() override { release_ = true; }

  // A service of the roster that is ready; `service` is the test's to command.
  ServiceEntry& Assign(uint64_t id) {
    std::optional<absl::Status> assigned;
    roster_.Assign(Request(id), [&assigned](const absl::StatusOr<v1::AssignResponse>& got) {
      assigned = got.status();
    });
    EXPECT_TRUE(harness_.RunUntil([&assigned] { return assigned.has_value(); }));
    return *harness_.table.Find(id);
  }
  static v1::AssignRequest Request(uint64_t id) {
    v1::AssignRequest request;
    request.set_service_id(id);
    request.set_name("service-" + std::to_string(id));
    return request;
  }
  void Hold(ServiceEntry& entry) {
    WorkerHarness::Scripted(entry).handle = [this](auto exchange) {
      held_.push_back(std::move(exchange));
    };
  }
  void Hang(ServiceEntry& entry) {
    WorkerHarness::Scripted(entry).dispatch_to = Dispatch::kPool;
    WorkerHarness::Scripted(entry).handle = [this](const auto&) {
      hanging_ = true;
      while (!release_) std::this_thread::yield();
    };
  }
  void Begin(absl::Duration limit, HandoverSender* successor = nullptr) {
    drain_ = std::make_unique<WorkerDrain>(harness_.parts, roster_, successor);
    drain_->Begin(limit, [this] { ++drained_; });
  }
  [[nodiscard]] bool RunUntilDrained() {
    return harness_.RunUntil([this] { return drained_ > 0; });
  }

  std::atomic<bool> release_{false};
  std::atomic<bool> hanging_{false};
  WorkerHarness harness_;
  std::vector<std::shared_ptr<Exchange>> held_;  // they end before the loop does
  // New services hold their start where this is set.
  bool hold_start_ = false;
  Roster roster_{harness_.parts, harness_.listeners,
                 [this](const v1::AssignRequest&,
                        ServiceEntry&) -> absl::StatusOr<std::unique_ptr<HostedService>> {
                   auto service = std::make_unique<ScriptedService>();
                   service->hold_start = hold_start_;
                   return service;
                 }};
  std::unique_ptr<WorkerDrain> drain_;
  int drained_ = 0;
};

TEST_F(WorkerDrainTest, EachServiceFinishesAndNothingNewComes) {
  ServiceEntry& first = Assign(1);
  ServiceEntry& second = Assign(2);
  Hold(first);
  UniqueFd client = harness_.Connect(first, kGetRequest);
  Begin(kLong);
  std::optional<absl::Status> late;
  roster_.Assign(Request(3), [&late](const auto& got) { late = got.status(); });
  ASSERT_TRUE(late.has_value());
  EXPECT_EQ(late->code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(harness_.RunUntil([&] { return first.draining() && second.draining(); }));
  harness_.Poll();
  EXPECT_EQ(drained_, 0);
  (void)held_.at(0)->Respond(200, {}, "");
  harness_.Poll();
  client.Reset();
  ASSERT_TRUE(RunUntilDrained());
  EXPECT_EQ(drain_->cancelled(), 0U);
  EXPECT_EQ(WorkerHarness::Scripted(first).calls,
            (std::vector<std::string>{"start", "GET /", "drain"}));
  EXPECT_EQ(WorkerHarness::Scripted(second).calls, (std::vector<std::string>{"start", "drain"}));

  bool stopped = false;
  drain_->StopServices([&stopped] { stopped = true; });
  ASSERT_TRUE(harness_.RunUntil([&stopped] { return stopped; }));
  EXPECT_EQ(WorkerHarness::Scripted(first).calls.back(), "stop");
  EXPECT_EQ(WorkerHarness::Scripted(second).calls.back(), "stop");
  EXPECT_EQ(drained_, 1);
}

TEST_F(WorkerDrainTest, WhatIsLeftAtTheLimitIsCancelledAndCounted) {
  ServiceEntry& entry = Assign(1);
  Hold(entry);
  const UniqueFd first = harness_.Connect(entry, kGetRequest);
  const UniqueFd second = harness_.Connect(entry, kGetRequest);
  const SteadyTime begin = harness_.clock.Steady();
  Begin(kShort);
  ASSERT_TRUE(RunUntilDrained());
  EXPECT_LT(harness_.clock.Steady() - begin, kBeyond);
  EXPECT_EQ(drain_->cancelled(), 2U);
  const auto& calls = WorkerHarness::Scripted(entry).calls;
  EXPECT_EQ(calls.at(3), "cancelled 3");
  EXPECT_EQ(calls.back(), "drain");
}

TEST_F(WorkerDrainTest, AServiceThatNeverHasDrainedIsNotWaitedForBeyondTheLimit) {
  ServiceEntry& entry = Assign(1);
  WorkerHarness::Scripted(entry).hold_drain = true;
  const SteadyTime begin = harness_.clock.Steady();
  Begin(absl::Milliseconds(100));
  ASSERT_TRUE(RunUntilDrained());
  EXPECT_LT(harness_.clock.Steady() - begin, kBeyond);
  WorkerHarness::Scripted(entry).drain_done();
  harness_.Poll();
  EXPECT_EQ(drained_, 1);
}

TEST_F(WorkerDrainTest, ALoadThatIsOnItsWayFailsAndWhoWaitedForItsTurnIsRefused) {
  hold_start_ = true;
  std::optional<absl::StatusOr<v1::AssignResponse>> loading;
  std::optional<absl::StatusOr<v1::AssignResponse>> waiting;
  roster_.Assign(Request(1), [&loading](auto got) { loading = std::move(got); });
  roster_.Assign(Request(2), [&waiting](auto got) { waiting = std::move(got); });
  harness_.Poll();
  Begin(kLong);
  ASSERT_TRUE(RunUntilDrained()) << "a start that hangs does not keep the drain";
  ASSERT_TRUE(loading.has_value() && waiting.has_value());
  EXPECT_EQ((*loading)->state(), cohost::v1::SERVICE_STATE_FAILED);
  EXPECT_EQ(waiting->status().code(), absl::StatusCode::kFailedPrecondition);
  bool stopped = false;
  drain_->StopServices([&stopped] { stopped = true; });
  ASSERT_TRUE(harness_.RunUntil([&stopped] { return stopped; }));
  EXPECT_EQ(WorkerHarness::Scripted(*harness_.table.Find(1)).calls,
            std::vector<std::string>{"start"})
      << "what never was ready is neither drained nor stopped";
}

TEST_F(WorkerDrainTest, IdleConnectionsGoToTheSuccessorWithServiceAndRevision) {
  ServiceEntry& entry = Assign(1);
  const UniqueFd idle = harness_.Connect(entry, "");
  absl::StatusOr<SocketPair> pair = MakeSeqpacketPair();
  ASSERT_TRUE(pair.ok());
  HandoverSender sender(harness_.io, std::move(pair->first));
  std::vector<IdleConnection> adopted;
  HandoverReceiver receiver(harness_.io, std::move(pair->second),
                            [&adopted](IdleConnection got) { adopted.push_back(std::move(got)); });
  receiver.Start([](const absl::Status&) {});
  Begin(kLong, &sender);
  ASSERT_TRUE(RunUntilDrained());
  ASSERT_TRUE(harness_.RunUntil([&adopted] { return !adopted.empty(); }));
  EXPECT_EQ(adopted[0].service_id, 1U);
  EXPECT_EQ(adopted[0].revision, entry.revision());
  EXPECT_EQ(sender.sent(), 1U);
}

TEST_F(WorkerDrainTest, ASuccessorThatIsGoneOrDoesNotReadKeepsNothing) {
  ServiceEntry& entry = Assign(1);
  std::vector<UniqueFd> idle;
  // More than the socket's buffer takes (net.unix.max_dgram_qlen and its bytes).
  for (int i = 0; i < 700; ++i) idle.push_back(harness_.Connect(entry, ""));
  absl::StatusOr<SocketPair> pair = MakeSeqpacketPair();
  ASSERT_TRUE(pair.ok());
  HandoverSender sender(harness_.io, std::move(pair->first));
  const SteadyTime begin = harness_.clock.Steady();
  Begin(kLong, &sender);
  ASSERT_TRUE(RunUntilDrained());
  EXPECT_LT(harness_.clock.Steady() - begin, kBeyond);
  EXPECT_EQ(harness_.http.connections(), 0U);
  pair->second.Reset();
  harness_.Poll();
  EXPECT_EQ(drained_, 1);
}

TEST_F(WorkerDrainTest, OnlyAServiceWhoseCodeHasReturnedIsStopped) {
  ServiceEntry& hung = Assign(1);
  ServiceEntry& neighbour = Assign(2);
  Hang(hung);
  const UniqueFd client = harness_.Connect(hung, kGetRequest);
  ASSERT_TRUE(harness_.RunUntil([this] { return hanging_.load(); }));
  const SteadyTime begin = harness_.clock.Steady();
  Begin(kShort);
  ASSERT_TRUE(RunUntilDrained());
  EXPECT_LT(harness_.clock.Steady() - begin, kBeyond);
  EXPECT_EQ(drain_->cancelled(), 1U);
  bool stopped = false;
  drain_->StopServices([&stopped] { stopped = true; });
  ASSERT_TRUE(harness_.RunUntil([&stopped] { return stopped; }));
  EXPECT_EQ(WorkerHarness::Scripted(hung).calls.back(), "drain");
  EXPECT_EQ(WorkerHarness::Scripted(neighbour).calls.back(), "stop");
  release_ = true;
}

TEST_F(WorkerDrainTest, AWorkerWithoutServicesHasDrainedAtOnce) {
  Begin(kLong);
  ASSERT_TRUE(RunUntilDrained());
  bool stopped = false;
  drain_->StopServices([&stopped] { stopped = true; });
  EXPECT_TRUE(harness_.RunUntil([&stopped] { return stopped; }));
}

}  // namespace
}  // namespace cohost::worker
