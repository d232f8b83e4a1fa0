// SPDX-License-Identifier: Apache-2.0
#include "supervisor/metrics/worker_families.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "supervisor/metrics/names.h"
#include "tests/fakes/host_control.h"
#include "tests/supervisor/metrics/families.h"

namespace cohost::supervisor {
namespace {

class WorkerFamiliesTest : public ::testing::Test {
 protected:
  WorkerFamiliesTest() {
    host_.workers.clear();
    host_.groups = {Group("front", 2)};
  }
  static GroupView Group(const std::string& name, uint32_t workers) {
    GroupView group;
    group.name = name;
    group.workers = workers;
    return group;
  }
  WorkerView& AddWorker(uint32_t slot, uint32_t generation, WorkerStatus status,
                        absl::Duration cpu = absl::ZeroDuration()) {
    WorkerView worker;
    worker.group = "front";
    worker.slot = slot;
    worker.generation = generation;
    worker.status = status;
    worker.cpu = cpu;
    host_.workers.push_back(worker);
    return host_.workers.back();
  }
  absl::Duration Update(uint32_t slot = 0) {
    cpu_.Update(host_);
    return cpu_.Of({"front", slot});
  }
  Families Collect() {
    Families families;
    AddWorkerFamilies(host_, cpu_, families);
    AddGroupFamilies(host_, families);
    return families;
  }
  std::string StateOf(uint32_t slot) {
    const Families families = Collect();
    std::string state;
    for (const auto& metric : FindFamily(families, kWorkerState.name)->metric) {
      if (metric.label.at(1).value != std::to_string(slot) || metric.gauge.value != 1) continue;
      state += (state.empty() ? "" : " ") + metric.label.at(2).value;
    }
    return state;
  }

  HostSnapshot host_ = SampleHost();
  SlotCpu cpu_;
};

TEST_F(WorkerFamiliesTest, CpuOfASlotNeverFallsWhateverIsReplaced) {
  AddWorker(0, 1, WorkerStatus::kReady, absl::Seconds(10));
  EXPECT_EQ(Update(), absl::Seconds(10));
  AddWorker(0, 2, WorkerStatus::kStarting, absl::Seconds(1));
  EXPECT_EQ(Update(), absl::Seconds(11)) << "both while they overlap";
  host_.workers.erase(host_.workers.begin());
  EXPECT_EQ(Update(), absl::Seconds(11));
  host_.workers[0].cpu = absl::Seconds(4);
  EXPECT_EQ(Update(), absl::Seconds(14));
  host_.workers.clear();
  EXPECT_EQ(Update(), absl::Seconds(14)) << "also while none runs";
  AddWorker(0, 3, WorkerStatus::kStarting);
  EXPECT_EQ(Update(), absl::Seconds(14));
  EXPECT_EQ(Update(), absl::Seconds(14)) << "nothing is folded twice";
}

TEST_F(WorkerFamiliesTest, AMeasurementThatFailedTakesNothingAway) {
  AddWorker(0, 1, WorkerStatus::kReady, absl::Seconds(10));
  EXPECT_EQ(Update(), absl::Seconds(10));
  host_.workers[0].cpu = absl::ZeroDuration();
  EXPECT_EQ(Update(), absl::Seconds(10));
}

TEST_F(WorkerFamiliesTest, ASlotThatNoGroupHasIsForgotten) {
  AddWorker(0, 1, WorkerStatus::kReady, absl::Seconds(10));
  AddWorker(1, 1, WorkerStatus::kReady, absl::Seconds(20));
  (void)Update();
  host_.workers.pop_back();
  host_.groups[0].workers = 1;
  EXPECT_EQ(Update(1), absl::ZeroDuration());
  EXPECT_EQ(Update(0), absl::Seconds(10));
  host_.groups.clear();
  host_.workers.clear();
  EXPECT_EQ(Update(0), absl::ZeroDuration());
  EXPECT_EQ(cpu_.Of({"other", 0}), absl::ZeroDuration());
}

TEST_F(WorkerFamiliesTest, WhileGenerationsOverlapASlotIsOneSeriesAndTheirSum) {
  AddWorker(0, 1, WorkerStatus::kDraining).memory.pss = Bytes{100};
  AddWorker(0, 2, WorkerStatus::kReady).memory.pss = Bytes{30};
  AddWorker(1, 1, WorkerStatus::kReady).memory.pss = Bytes{7};
  host_.workers[0].threads = 5;
  host_.workers[1].threads = 4;
  const Families families = Collect();
  EXPECT_TRUE(HasNothingTwice(families));
  EXPECT_EQ(ValueOf(families, kWorkerPss.name, {"group=front", "slot=0"}), 130);
  EXPECT_EQ(ValueOf(families, kWorkerPss.name, {"group=front", "slot=1"}), 7);
  EXPECT_EQ(ValueOf(families, kWorkerThreads.name, {"slot=0"}), 9);
}

TEST_F(WorkerFamiliesTest, TheStateIsThatOfTheOneThatServes) {
  AddWorker(0, 1, WorkerStatus::kReady);
  AddWorker(0, 2, WorkerStatus::kStarting);
  EXPECT_EQ(StateOf(0), "ready");
  host_.workers[0].status = WorkerStatus::kDraining;
  EXPECT_EQ(StateOf(0), "starting") << "none serves: the newest";
  host_.workers[1].status = WorkerStatus::kReady;
  EXPECT_EQ(StateOf(0), "ready");
  host_.workers.erase(host_.workers.begin());
  host_.workers[0].status = WorkerStatus::kBackoff;
  EXPECT_EQ(StateOf(0), "backoff");
}

TEST_F(WorkerFamiliesTest, RestartsAreTheSlotsByReasonAlsoWhereOneIsBehind) {
  AddWorker(0, 4, WorkerStatus::kDraining).restarts[static_cast<size_t>(RecycleReason::kCrash)] = 3;
  AddWorker(0, 5, WorkerStatus::kStarting).restarts[static_cast<size_t>(RecycleReason::kCrash)] = 4;
  const Families families = Collect();
  EXPECT_EQ(ValueOf(families, kWorkerRestarts.name, {"slot=0", "reason=crash"}), 4);
  EXPECT_EQ(ValueOf(families, kWorkerRestarts.name, {"slot=0", "reason=private_memory"}), 0);
  EXPECT_EQ(FindFamily(families, kWorkerRestarts.name)->metric.size(), kRecycleReasons - 1);
}

TEST_F(WorkerFamiliesTest, NoLabelNamesAProcess) {
  AddWorker(0, 12345, WorkerStatus::kReady).pid = 54321;
  for (const auto& family : Collect()) {
    for (const auto& metric : family.metric) {
      for (const auto& label : metric.label) {
        EXPECT_TRUE(label.value != "12345" && label.value != "54321") << family.name;
      }
    }
  }
}

TEST_F(WorkerFamiliesTest, GroupsSayWhatTheyShouldHaveAndHave) {
  host_.groups[0].services = {"orders", "search"};
  host_.groups[0].workers_ready = 1;
  const Families families = Collect();
  EXPECT_EQ(ValueOf(families, kGroupServices.name, {"group=front"}), 2);
  EXPECT_EQ(ValueOf(families, kGroupWorkers.name, {"group=front"}), 2);
  EXPECT_EQ(ValueOf(families, kGroupWorkersReady.name, {"group=front"}), 1);
}

// After a supervisor's death: a zero would be a counter that fell.
TEST_F(WorkerFamiliesTest, FiguresOfAProcessThatWasNotLookedAtYetAreLeftOut) {
  AddWorker(0, 1, WorkerStatus::kReady).pid = 100;
  Update();
  for (const MetricName& name : {kWorkerCpu, kWorkerPss, kWorkerPrivate, kWorkerThreads}) {
    EXPECT_FALSE(ValueOf(Collect(), name.name, {"slot=0"}).has_value()) << name.name;
  }
  host_.workers.back().cpu = absl::Seconds(3);
  host_.workers.back().memory.pss = MiB(2);
  Update();
  EXPECT_EQ(ValueOf(Collect(), kWorkerCpu.name, {"slot=0"}), 3);
  EXPECT_EQ(ValueOf(Collect(), kWorkerPss.name, {"slot=0"}), 2 << 20);
}

}  // namespace
}  // namespace cohost::supervisor
