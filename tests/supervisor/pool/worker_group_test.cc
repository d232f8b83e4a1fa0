// SPDX-License-Identifier: Apache-2.0
#include "supervisor/pool/worker_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/supervisor/pool/group_world.h"

namespace cohost::supervisor {
namespace {

using ::testing::ElementsAre;

class WorkerGroupTest : public ::testing::Test {
 protected:
  WorkerGroupTest() {
    world_.converge = [this] { group_->Converge(); };
    world_.on_exit = [this](const GenerationId& id, const ExitRecord& record) {
      group_->HandleExit(id, record);
    };
    Begin();
  }

  void Begin() { group_ = std::make_unique<WorkerGroup>(world_.parts, world_, "g"); }
  void Apply(const GroupTarget& target) {
    group_->Apply(target);
    Converge();
  }
  void Converge() {
    world_.Changed();
    world_.Settle();
  }
  absl::Status Adopt(const GenerationId& id) { return group_->Adopt(id, world_.Held(id), 77); }
  // "0/1 ready": slot, generation and status.
  std::vector<std::string> States() {
    std::vector<std::string> states;
    for (const auto& [number, slot] : group_->slots()) {
      for (const Worker* worker : slot->Workers()) {
        const Generation* generation = worker->generation();
        states.push_back(absl::StrCat(number, "/",
                                      generation == nullptr ? 0 : generation->id().number, " ",
                                      Name(worker->status())));
      }
    }
    return states;
  }

  GroupWorld world_;
  std::unique_ptr<WorkerGroup> group_;
};

TEST_F(WorkerGroupTest, StartsWhatIsMissingAllAtOnce) {
  world_.workers.behaviour.hanging.insert("s1");
  Apply(world_.Group({world_.Service(1)}, 3));
  EXPECT_THAT(States(), ElementsAre("0/1 starting", "1/1 starting", "2/1 starting"));
  EXPECT_FALSE(group_->settled());
}

TEST_F(WorkerGroupTest, NoOtherSlotIsReplacedBeforeOneIsDone) {
  Apply(world_.Group({world_.Service(1)}, 3));
  world_.workers.behaviour.hanging.insert("s1");
  // The last one begins; those before it must not overtake.
  group_->slots().at(2)->Recycle(RecycleReason::kOperator, [](bool) {});
  world_.Settle();
  ASSERT_THAT(States(), ElementsAre("0/1 ready", "1/1 ready", "2/1 ready", "2/2 starting"));
  Apply(world_.Group({world_.Service(1, 2)}, 3));
  const std::vector<std::string> states = States();
  EXPECT_EQ(states.size(), 4) << "two slots are being replaced";
  EXPECT_FALSE(group_->settled());
}

TEST_F(WorkerGroupTest, ARejectedReplacementDoesNotHoldUpTheOtherSlots) {
  Apply(world_.Group({world_.Service(1), world_.Service(2)}, 2));
  world_.workers.behaviour.failing["s1"] = "bad settings";
  Apply(world_.Group({world_.Service(1, 2), world_.Service(2)}, 2));
  // Both were tried and both stay as they were.
  EXPECT_THAT(States(), ElementsAre("0/1 ready", "1/1 ready"));
  EXPECT_EQ(world_.workers.launcher().launched().size(), 4);
  world_.workers.behaviour.failing.clear();
  world_.Pass(absl::Seconds(3));
  EXPECT_TRUE(group_->settled());
  EXPECT_EQ(world_.worker(0, 1), nullptr);
  EXPECT_EQ(world_.worker(1, 1), nullptr);
}

TEST_F(WorkerGroupTest, StopThenStartTakesOneSlotAtATimeToo) {
  const auto alone = [this](uint64_t revision) {
    auto service = world_.Service(1, revision);
    service->overlap = false;
    return service;
  };
  Apply(world_.Group({alone(1)}, 2));
  world_.workers.behaviour.never_drained = true;
  Apply(world_.Group({alone(2)}, 2));
  EXPECT_THAT(States(), ElementsAre("0/1 draining", "1/1 ready"));
  world_.worker(0, 1)->SendDrained();
  world_.Settle();
  EXPECT_THAT(States(), ElementsAre("0/2 ready", "1/1 draining"));
}

TEST_F(WorkerGroupTest, SlotsThatAreNotWantedFinishAndAreForgotten) {
  Apply(world_.Group({world_.Service(1)}, 3));
  world_.workers.behaviour.never_drained = true;
  Apply(world_.Group({world_.Service(1)}, 1));
  EXPECT_THAT(States(), ElementsAre("0/1 ready", "1/1 draining", "2/1 draining"));
  // They are no part of what the target asks for.
  EXPECT_TRUE(group_->settled());
  EXPECT_TRUE(group_->ServesEverywhere(1));
  world_.worker(1, 1)->SendDrained();
  world_.worker(2, 1)->SendDrained();
  world_.Settle();
  EXPECT_THAT(States(), ElementsAre("0/1 ready"));
  EXPECT_EQ(group_->slots().size(), 1);
}

TEST_F(WorkerGroupTest, ASlotThatIsWantedAgainWhileItDrainsGetsANewWorker) {
  Apply(world_.Group({world_.Service(1)}, 2));
  world_.workers.behaviour.never_drained = true;
  Apply(world_.Group({world_.Service(1)}, 1));
  Apply(world_.Group({world_.Service(1)}, 2));
  EXPECT_THAT(States(), ElementsAre("0/1 ready", "1/1 draining", "1/2 ready"));
}

TEST_F(WorkerGroupTest, AnAbandonedGroupIsEmptyAfterItsLastWorker) {
  Apply(world_.Group({world_.Service(1)}, 2));
  world_.workers.behaviour.never_drained = true;
  group_->Abandon();
  Converge();
  EXPECT_THAT(States(), ElementsAre("0/1 draining", "1/1 draining"));
  EXPECT_FALSE(group_->wanted());
  EXPECT_FALSE(group_->Wants(1));
  EXPECT_FALSE(group_->empty());
  world_.worker(0, 1)->SendDrained();
  world_.worker(1, 1)->SendDrained();
  world_.Settle();
  EXPECT_TRUE(group_->empty());
}

TEST_F(WorkerGroupTest, AnAbandonedGroupThatComesBackServesAgain) {
  Apply(world_.Group({world_.Service(1)}));
  world_.unremovable = {1};
  group_->Abandon();
  Converge();
  EXPECT_THAT(States(), ElementsAre("0/1 ready"));
  Apply(world_.Group({world_.Service(1)}));
  EXPECT_TRUE(group_->Wants(1));
  EXPECT_TRUE(group_->settled());
  // The worker that it still had.
  EXPECT_THAT(States(), ElementsAre("0/1 ready"));
}

TEST_F(WorkerGroupTest, ServesEverywhereOnlyWhenEverySlotThatWantsItDoes) {
  auto one = world_.Service(2);
  one->instances = Instances::kOne;
  Apply(world_.Group({world_.Service(1), one}, 2));
  EXPECT_TRUE(group_->ServesEverywhere(1));
  // In the first slot only, and nobody wants it in the other.
  EXPECT_TRUE(group_->ServesEverywhere(2));
  world_.workers.behaviour.hanging.insert("s1");
  world_.workers.Crash("worker/g/1/1", SIGSEGV);
  world_.Settle();
  EXPECT_THAT(States(), ElementsAre("0/1 ready", "1/2 starting"));
  EXPECT_FALSE(group_->ServesEverywhere(1));
  EXPECT_TRUE(group_->ServesEverywhere(2));
}

TEST_F(WorkerGroupTest, AdoptedSlotsBeyondTheTargetAreDrained) {
  Apply(world_.Group({world_.Service(1)}, 2));
  Begin();
  ASSERT_TRUE(Adopt({"g", 0, 1}).ok());
  ASSERT_TRUE(Adopt({"g", 1, 1}).ok());
  world_.workers.behaviour.never_drained = true;
  Apply(world_.Group({world_.Service(1)}, 1));
  EXPECT_THAT(States(), ElementsAre("0/1 ready", "1/1 draining"));
}

TEST_F(WorkerGroupTest, AGroupThatNobodyWantsAfterItsAdoptionGoes) {
  Apply(world_.Group({world_.Service(1)}, 2));
  Begin();
  ASSERT_TRUE(Adopt({"g", 0, 1}).ok());
  group_->AdoptDead({"g", 1, 1}, GenerationRecord{}, {});
  group_->Abandon();
  Converge();
  EXPECT_EQ(world_.worker(0, 1), nullptr);
  EXPECT_TRUE(group_->empty());
}

TEST_F(WorkerGroupTest, ExitsOfUnknownSlotsAreNotItsOwn) {
  Apply(world_.Group({world_.Service(1)}));
  EXPECT_FALSE(group_->HandleExit({"g", 5, 1}, ExitRecord{}));
  EXPECT_FALSE(group_->HandleExit({"g", 0, 5}, ExitRecord{}));
  EXPECT_THAT(States(), ElementsAre("0/1 ready"));
}

}  // namespace
}  // namespace cohost::supervisor
