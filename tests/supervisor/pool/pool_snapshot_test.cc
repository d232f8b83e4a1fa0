// SPDX-License-Identifier: Apache-2.0
#include "supervisor/pool/pool_snapshot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/supervisor/pool/group_world.h"

namespace cohost::supervisor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class PoolSnapshotTest : public ::testing::Test {
 protected:
  PoolSnapshotTest() {
    groups_["g"] = std::make_unique<WorkerGroup>(world_.parts, world_, "g");
    world_.converge = [this] { group().Converge(); };
    world_.on_exit = [this](const GenerationId& id, const ExitRecord& record) {
      group().HandleExit(id, record);
    };
  }

  WorkerGroup& group() { return *groups_.at("g"); }
  void Apply(const GroupTarget& target) {
    group().Apply(target);
    world_.Changed();
    world_.Settle();
  }
  ServiceRoster& Roster(uint32_t slot) {
    return group().slots().at(slot)->Workers().back()->generation()->roster();
  }
  ServiceRow& Row(uint32_t slot, uint32_t generation, uint32_t row) {
    return world_.worker(slot, generation)->segment().rows[row];
  }

  HostSnapshot Workers(const std::string& binary_id = "build-1") {
    HostSnapshot snapshot;
    GroupView view;
    view.name = "g";
    snapshot.groups = {view};
    FillWorkers(groups_, ledger_, world_.time, binary_id, snapshot);
    return snapshot;
  }
  ServiceView Service(ServiceView view) {
    HostSnapshot snapshot;
    snapshot.services = {std::move(view)};
    FillServices(groups_, ledger_, world_.time.Steady(), snapshot);
    return snapshot.services[0];
  }
  ServiceView Service(uint64_t id) {
    ServiceView view;
    view.id = id;
    return Service(view);
  }

  GroupWorld world_;
  Ledger ledger_ = Ledger::Create().value();
  WorkerGroups groups_;
};

TEST_F(PoolSnapshotTest, TotalsAreThoseOfTheLedgerAndOfAllLivingWorkers) {
  Apply(world_.Group({world_.Service(1), world_.Service(2)}, 2));
  ServiceTotals before;
  before.started = before.finished = 100;
  before.answered[5] = 3;
  ASSERT_TRUE(ledger_.Fold("g", 0, 0, {{1, before}}).ok());
  world_.worker(0, 1)->Count(1, 5);
  world_.worker(1, 1)->Count(1, 7);
  const ServiceTotals totals = Service(1).totals;
  EXPECT_EQ(totals.finished, 112);
  EXPECT_EQ(totals.answered[2], 12);
  EXPECT_EQ(totals.answered[5], 3);
  EXPECT_EQ(Service(2).totals, ServiceTotals{});
}

TEST_F(PoolSnapshotTest, AServiceThatHasLeftItsWorkerStillCounts) {
  Apply(world_.Group({world_.Service(1), world_.Service(2)}));
  world_.worker(0, 1)->Count(1, 5);
  Apply(world_.Group({world_.Service(2)}));
  ASSERT_THAT(world_.worker(0, 1)->services(), ElementsAre(2));
  EXPECT_EQ(Service(1).totals.finished, 5);
  EXPECT_EQ(Service(1).status, ServiceStatus::kStopped);
  EXPECT_EQ(Service(1).workers, 0);
}

TEST_F(PoolSnapshotTest, OneReadyWorkerMakesAServiceReadyAndTheOtherOnesReasonIsShown) {
  Apply(world_.Group({world_.Service(1)}, 2));
  world_.workers.behaviour.failing["s1"] = "no such table";
  world_.workers.Crash("worker/g/1/1", SIGSEGV);
  world_.Settle();
  const ServiceView service = Service(1);
  EXPECT_EQ(service.status, ServiceStatus::kReady);
  EXPECT_EQ(service.ready_workers, 1);
  EXPECT_EQ(service.workers, 2);
  EXPECT_EQ(service.reason, "no such table");
}

TEST_F(PoolSnapshotTest, LoadingBeatsFailedAndWantedBeatsDraining) {
  world_.workers.behaviour.failing["s1"] = "no such table";
  Apply(world_.Group({world_.Service(1)}));
  EXPECT_EQ(Service(1).status, ServiceStatus::kFailed);
  world_.workers.behaviour.failing.clear();
  world_.workers.behaviour.hanging.insert("s1");
  Apply(world_.Group({world_.Service(1)}, 2));
  EXPECT_EQ(Service(1).status, ServiceStatus::kLoading);
  // Backed off: nothing of it lives, and it is to come.
  world_.workers.launcher().FailLaunches(absl::NotFoundError("exec"));
  world_.workers.Crash("worker/g/0/1", SIGKILL);
  world_.workers.Crash("worker/g/1/1", SIGKILL);
  world_.Settle();
  EXPECT_EQ(Service(1).status, ServiceStatus::kLoading);
  EXPECT_EQ(Service(1).ready_workers, 0);
  EXPECT_EQ(Service(1).workers, 2);
}

TEST_F(PoolSnapshotTest, AServiceOfADrainingWorkerDrainsUntilTheWorkerIsGone) {
  Apply(world_.Group({world_.Service(1)}));
  world_.workers.behaviour.never_drained = true;
  Apply(world_.Group({}));
  EXPECT_EQ(Service(1).status, ServiceStatus::kDraining);
  EXPECT_EQ(Service(1).ready_workers, 0);
  world_.worker(0, 1)->SendDrained();
  world_.Settle();
  EXPECT_EQ(Service(1).status, ServiceStatus::kStopped);
}

TEST_F(PoolSnapshotTest, WhyAnOperatorsServiceIsStoppedIsNotForgotten) {
  ServiceView view;
  view.id = 1;
  view.stopped_by_operator = true;
  view.status = ServiceStatus::kStopped;
  view.reason = "stopped by an operator";
  EXPECT_EQ(Service(view).reason, "stopped by an operator");
  EXPECT_EQ(Service(view).status, ServiceStatus::kStopped);
  // A reason of the workers' is newer.
  world_.workers.behaviour.failing["s1"] = "no such table";
  Apply(world_.Group({world_.Service(1)}));
  EXPECT_EQ(Service(view).reason, "no such table");
}

TEST_F(PoolSnapshotTest, AServiceThatIsNotTriedSaysWhyAndCostsNoOtherItsState) {
  world_.workers.behaviour.deadly.insert("s1");
  Apply(world_.Group({world_.Service(1), world_.Service(2)}));
  EXPECT_EQ(Service(1).status, ServiceStatus::kFailed);
  EXPECT_EQ(Service(1).reason, "died while loading");
  EXPECT_EQ(Service(1).workers, 1);
  EXPECT_EQ(Service(2).status, ServiceStatus::kReady);
  EXPECT_EQ(Service(2).reason, "");
}

TEST_F(PoolSnapshotTest, SlotsBeyondTheTargetAreNotWanted) {
  Apply(world_.Group({world_.Service(1)}, 3));
  world_.workers.behaviour.never_drained = true;
  Apply(world_.Group({world_.Service(1)}, 1));
  EXPECT_EQ(Service(1).workers, 1);
  EXPECT_EQ(Service(1).ready_workers, 1);
}

TEST_F(PoolSnapshotTest, GaugesAddUpAndAgesAreTheOldest) {
  Apply(world_.Group({world_.Service(1)}, 2));
  const std::vector<std::pair<std::string, double>> values[] = {{{"rows", 2}, {"depth", 1}},
                                                                {{"rows", 3}}};
  const auto now = static_cast<uint64_t>(world_.time.Steady().nanoseconds);
  for (uint32_t slot = 0; slot < 2; ++slot) {
    WorkerGauges gauges;
    ServiceGauges& service = gauges.services.emplace_back();
    service.service_id = 1;
    service.metrics_dropped = 4;
    for (const auto& [name, value] : values[slot]) {
      service.metrics.push_back({name, /*is_counter=*/true, value});
    }
    // Of a service that this worker does not have.
    gauges.services.emplace_back().service_id = 9;
    Roster(slot).TakeGauges(gauges);
    Row(slot, 1, 0).stripes[slot].started = 1 + slot;
    Row(slot, 1, 0).oldest_request_ns = now - 1000 * (slot + 1);
    Row(slot, 1, 0).queued = 10;
    Row(slot, 1, 0).allocated_bytes = 1000;
  }
  const ServiceView service = Service(1);
  EXPECT_EQ(service.in_flight, 3);
  EXPECT_EQ(service.queued, 20);
  EXPECT_EQ(service.oldest_request_age, absl::Nanoseconds(2000));
  EXPECT_EQ(service.oldest_queued_age, std::nullopt);
  EXPECT_EQ(service.allocated_bytes, 2000);
  EXPECT_EQ(service.metrics_dropped, 8);
  ASSERT_THAT(service.metrics, SizeIs(2));
  EXPECT_EQ(service.metrics[0].name, "rows");
  EXPECT_EQ(service.metrics[0].value, 5);
  EXPECT_EQ(service.metrics[1].value, 1);
}

TEST_F(PoolSnapshotTest, WorkersAreInTheOrderOfGroupSlotAndGeneration) {
  Apply(world_.Group({world_.Service(1)}, 2));
  world_.workers.behaviour.never_drained = true;
  Apply(world_.Group({world_.Service(1, 2)}, 2));
  std::vector<std::string> order;
  const HostSnapshot snapshot = Workers();
  for (const WorkerView& worker : snapshot.workers) {
    order.push_back(absl::StrCat(worker.slot, "/", worker.generation, " ", Name(worker.status)));
    EXPECT_GT(worker.pid, 0);
    EXPECT_THAT(worker.services, ElementsAre("s1"));
  }
  EXPECT_THAT(order, ElementsAre("0/1 draining", "0/2 ready", "1/1 draining", "1/2 ready"));
  EXPECT_EQ(snapshot.groups[0].workers, 2);
  EXPECT_EQ(snapshot.groups[0].workers_ready, 2);
}

TEST_F(PoolSnapshotTest, AWorkerThatWaitsSaysUntilWhen) {
  Apply(world_.Group({world_.Service(1)}));
  for (uint32_t generation = 1; generation <= 2; ++generation) {
    world_.workers.Crash(absl::StrCat("worker/g/0/", generation), SIGSEGV);
    world_.Settle();
  }
  const HostSnapshot snapshot = Workers();
  ASSERT_THAT(snapshot.workers, SizeIs(1));
  const WorkerView& worker = snapshot.workers[0];
  EXPECT_EQ(worker.status, WorkerStatus::kBackoff);
  EXPECT_EQ(worker.pid, 0);
  EXPECT_EQ(worker.last_exit, "signal 11 (SIGSEGV)");
  ASSERT_TRUE(worker.next_attempt.has_value());
  EXPECT_GT(*worker.next_attempt, world_.time.Wall());
  EXPECT_LE(*worker.next_attempt, world_.time.Wall() + RestartBackoff::kFirst);
  EXPECT_EQ(snapshot.groups[0].workers_ready, 0);
}

TEST_F(PoolSnapshotTest, AcceptErrorsAndRestartsAreThoseOfTheWholeSlot) {
  Apply(world_.Group({world_.Service(1)}, 2));
  ASSERT_TRUE(ledger_.Fold("g", 0, 0, {}, /*accept_errors=*/5).ok());
  ASSERT_TRUE(ledger_.CountRestart("g", 0, RecycleReason::kCrash).ok());
  world_.worker(0, 1)->segment().header.accept_errors = 2;
  const HostSnapshot snapshot = Workers();
  ASSERT_THAT(snapshot.workers, SizeIs(2));
  EXPECT_EQ(snapshot.workers[0].accept_errors, 7);
  EXPECT_EQ(snapshot.workers[0].restarts[static_cast<size_t>(RecycleReason::kCrash)], 1);
  EXPECT_EQ(snapshot.workers[1].accept_errors, 0);
  EXPECT_EQ(snapshot.workers[1].restarts[static_cast<size_t>(RecycleReason::kCrash)], 0);
}

TEST_F(PoolSnapshotTest, AnotherBuildIsRemarkedOnlyWhileItServesAndOnlyWhenItIsCompared) {
  Apply(world_.Group({world_.Service(1)}));
  EXPECT_THAT(Workers("build-1").remarks, IsEmpty());
  EXPECT_THAT(Workers("").remarks, IsEmpty());
  ASSERT_THAT(Workers("build-2").remarks, SizeIs(1));
  EXPECT_THAT(Workers("build-2").remarks[0], HasSubstr("g/0, generation 1"));
  world_.workers.behaviour.never_drained = true;
  Apply(world_.Group({}));
  EXPECT_THAT(Workers("build-2").remarks, IsEmpty());
}

TEST_F(PoolSnapshotTest, LimitsThatAreNotAppliedAreSaidOnceForTheirGroup) {
  world_.workers.launcher().RemarkOnLaunches({"limits.memory is not applied: no control group"});
  GroupTarget target = world_.Group({world_.Service(1)}, 2);
  target.policy.limits.memory = MiB(64);
  Apply(target);
  EXPECT_THAT(Workers().remarks,
              ElementsAre("group g: limits.memory is not applied: no control group"));
}

TEST_F(PoolSnapshotTest, WithoutLimitsNobodyMissesAControlGroup) {
  world_.workers.launcher().RemarkOnLaunches({"no control group: mkdir"});
  Apply(world_.Group({world_.Service(1)}, 2));
  EXPECT_THAT(Workers().remarks, IsEmpty());
}

}  // namespace
}  // namespace cohost::supervisor
