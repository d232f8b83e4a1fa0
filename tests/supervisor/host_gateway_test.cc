// SPDX-License-Identifier: Apache-2.0
#include "supervisor/host_gateway.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

#include "boost/asio/executor_work_guard.hpp"
#include "boost/asio/post.hpp"

namespace cohost::supervisor {
namespace {

// The loop's side: counts snapshots, answers at once.
class CountingOperations final : public HostOperations {
 public:
  std::shared_ptr<const HostSnapshot> BuildSnapshot() override {
    auto snapshot = std::make_shared<HostSnapshot>();
    snapshot->revision = ++built;
    return snapshot;
  }
  void Reload(const Caller& caller, ChangeAction action,
              std::function<void(absl::StatusOr<ReloadOutcome>)> done) override {
    last_uid = caller.uid;
    last_action = action;
    done(ReloadOutcome{});
  }
  void ExportDeployment(std::function<void(absl::StatusOr<DeploymentExport>)> done) override {
    DeploymentExport exported;
    exported.revision = 7;
    done(std::move(exported));
  }
  void Recycle(const Caller&, const std::string& group, std::optional<uint32_t>,
               std::function<void(absl::StatusOr<RecycleOutcome>)> done) override {
    done(RecycleOutcome{{group}, {}});
  }
  void StopService(const Caller&, const std::string&,
                   std::function<void(absl::StatusOr<uint64_t>)> done) override {
    done(1);
  }
  void StartService(const Caller&, const std::string&,
                    std::function<void(absl::StatusOr<uint64_t>)> done) override {
    done(2);
  }
  void Deploy(const Caller&, DeployRequest request,
              std::function<void(absl::StatusOr<DeployOutcome>)> done) override {
    DeployOutcome outcome;
    outcome.service = request.service;
    done(outcome);
  }
  void Rollback(const Caller&, RollbackRequest request,
                std::function<void(absl::StatusOr<DeployOutcome>)> done) override {
    DeployOutcome outcome;
    outcome.restored = request.revision;
    done(outcome);
  }
  void ReadHistory(const std::string&, uint32_t limit,
                   std::function<void(absl::StatusOr<HistoryView>)> done) override {
    HistoryView view;
    view.current = limit;
    done(view);
  }
  void MaintainStore(const Caller&, bool check, bool,
                     std::function<void(absl::StatusOr<StoreOutcome>)> done) override {
    StoreOutcome outcome;
    outcome.check.files = check ? 1 : 0;
    done(outcome);
  }
  void Plan(std::string, std::string,
            std::function<void(absl::StatusOr<PlanOutcome>)> done) override {
    done(PlanOutcome{});
  }
  void Validate(std::string, std::string,
                std::function<void(std::vector<ConfigProblem>, uint32_t)> done) override {
    done({}, 3);
  }
  void MeasureMemory(
      MemoryDepth depth,
      std::function<void(absl::StatusOr<std::shared_ptr<const HostSnapshot>>)> done) override {
    last_depth = depth;
    done(BuildSnapshot());
  }
  void MeasureUnshared(const Caller& caller, uint32_t samples,
                       std::function<void(absl::StatusOr<UnsharedMemory>)> done) override {
    last_uid = caller.uid;
    UnsharedMemory memory;
    memory.services = samples;
    done(memory);
  }
  void Record(HostEvent event) override { last_uid = event.uid.value_or(0); }
  void ReadEvents(uint64_t, uint32_t, uint32_t,
                  std::function<void(absl::StatusOr<std::vector<HostEvent>>)> done) override {
    done(std::vector<HostEvent>{});
  }
  uint64_t SubscribeEvents(std::function<void(const HostEvent&)> event) override {
    subscriber = std::move(event);
    return 7;
  }
  void UnsubscribeEvents(uint64_t subscription) override { unsubscribed = subscription; }

  std::atomic<uint64_t> built{0};
  uid_t last_uid = 0;
  ChangeAction last_action = ChangeAction::kStart;
  MemoryDepth last_depth = MemoryDepth::kProcesses;
  std::function<void(const HostEvent&)> subscriber;
  uint64_t unsubscribed = 0;
};

// A loop on a thread of its own; the test is "another thread".
class HostGatewayTest : public ::testing::Test {
 protected:
  HostGatewayTest() {
    std::promise<void> made;
    thread_ = std::thread([this, &made] {
      gateway_ = std::make_unique<HostGateway>(loop_, SystemClock(), operations_);
      made.set_value();
      loop_.run();
    });
    made.get_future().wait();
  }
  ~HostGatewayTest() override {
    work_.reset();
    thread_.join();
  }
  // Until everything that was posted before has run.
  void Drain() {
    std::promise<void> drained;
    boost::asio::post(loop_, [&] { drained.set_value(); });
    drained.get_future().wait();
  }

  boost::asio::io_context loop_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{
      loop_.get_executor()};
  CountingOperations operations_;
  std::unique_ptr<HostGateway> gateway_;
  std::thread thread_;
};

TEST_F(HostGatewayTest, AYoungSnapshotIsNotBuiltAgain) {
  gateway_->Invalidate();
  const auto first = gateway_->snapshot();
  const auto second = gateway_->snapshot();
  EXPECT_EQ(first, second);
}

TEST_F(HostGatewayTest, AChangeIsSeenByTheNextCallerHoweverYoungTheSnapshotIs) {
  const uint64_t before = gateway_->snapshot()->revision;
  gateway_->Invalidate();
  EXPECT_GT(gateway_->snapshot()->revision, before);
}

TEST_F(HostGatewayTest, ABusyLoopGivesTheLastSnapshotAfterItsLimit) {
  const auto before = gateway_->snapshot();
  std::promise<void> release;
  std::promise<void> entered;
  boost::asio::post(loop_, [&] {
    entered.set_value();
    release.get_future().wait();
  });
  entered.get_future().wait();
  gateway_->Invalidate();
  EXPECT_EQ(gateway_->snapshot(), before);
  release.set_value();
}

TEST_F(HostGatewayTest, CallsAreMadeOnTheLoopWithTheirCaller) {
  Caller caller;
  caller.uid = 42;
  std::promise<std::thread::id> where;
  gateway_->Reload(caller, ChangeAction::kImport,
                   [&](const absl::StatusOr<ReloadOutcome>& outcome) {
                     EXPECT_TRUE(outcome.ok());
                     where.set_value(std::this_thread::get_id());
                   });
  EXPECT_EQ(where.get_future().get(), thread_.get_id());
  EXPECT_EQ(operations_.last_uid, 42u);
  EXPECT_EQ(operations_.last_action, ChangeAction::kImport);
}

TEST_F(HostGatewayTest, TheDeploymentIsReadOnTheLoop) {
  std::promise<std::thread::id> where;
  gateway_->ExportDeployment([&](const absl::StatusOr<DeploymentExport>& exported) {
    EXPECT_EQ(exported->revision, 7u);
    where.set_value(std::this_thread::get_id());
  });
  EXPECT_EQ(where.get_future().get(), thread_.get_id());
}

TEST_F(HostGatewayTest, WhatIsAskedOfVersionsComesToTheLoop) {
  const auto loop = thread_.get_id();
  std::promise<std::pair<std::thread::id, std::string>> deployed;
  DeployRequest deploy;
  deploy.service = "shop";
  gateway_->Deploy({}, deploy, [&](const absl::StatusOr<DeployOutcome>& outcome) {
    deployed.set_value({std::this_thread::get_id(), outcome->service});
  });
  EXPECT_EQ(deployed.get_future().get(), std::make_pair(loop, std::string("shop")));
  std::promise<std::pair<std::thread::id, uint64_t>> restored;
  RollbackRequest rollback;
  rollback.revision = 5;
  gateway_->Rollback({}, rollback, [&](const absl::StatusOr<DeployOutcome>& outcome) {
    restored.set_value({std::this_thread::get_id(), outcome->restored});
  });
  EXPECT_EQ(restored.get_future().get(), std::make_pair(loop, uint64_t{5}));
  std::promise<std::pair<std::thread::id, uint64_t>> read;
  gateway_->ReadHistory("shop", 3, [&](const absl::StatusOr<HistoryView>& view) {
    read.set_value({std::this_thread::get_id(), view->current});
  });
  EXPECT_EQ(read.get_future().get(), std::make_pair(loop, uint64_t{3}));
  std::promise<std::pair<std::thread::id, uint64_t>> checked;
  gateway_->MaintainStore({}, true, false, [&](const absl::StatusOr<StoreOutcome>& outcome) {
    checked.set_value({std::this_thread::get_id(), outcome->check.files});
  });
  EXPECT_EQ(checked.get_future().get(), std::make_pair(loop, uint64_t{1}));
}

TEST_F(HostGatewayTest, MemoryIsMeasuredAsDeeplyAsAsked) {
  std::promise<std::thread::id> where;
  gateway_->MeasureMemory(MemoryDepth::kModules, [&](const auto& snapshot) {
    EXPECT_TRUE(snapshot.ok());
    where.set_value(std::this_thread::get_id());
  });
  EXPECT_EQ(where.get_future().get(), thread_.get_id());
  EXPECT_EQ(operations_.last_depth, MemoryDepth::kModules);
}

TEST_F(HostGatewayTest, ASampleIsTakenOnTheLoopForItsCaller) {
  Caller caller;
  caller.uid = 42;
  std::promise<uint32_t> services;
  gateway_->MeasureUnshared(caller, 5, [&](const absl::StatusOr<UnsharedMemory>& memory) {
    EXPECT_EQ(std::this_thread::get_id(), thread_.get_id());
    services.set_value(memory->services);
  });
  EXPECT_EQ(services.get_future().get(), 5u);
  EXPECT_EQ(operations_.last_uid, 42u);
}

TEST_F(HostGatewayTest, ASubscriptionEndsByItsOwnNumber) {
  const auto unsubscribe = gateway_->SubscribeEvents([](const HostEvent&) {});
  // At once: the number is not known to this thread yet.
  unsubscribe();
  Drain();
  EXPECT_TRUE(operations_.subscriber != nullptr);
  EXPECT_EQ(operations_.unsubscribed, 7u);
}

}  // namespace
}  // namespace cohost::supervisor
