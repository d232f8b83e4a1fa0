// SPDX-License-Identifier: Apache-2.0
#include "supervisor/pool/slot.h"

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
using ::testing::IsEmpty;
using ::testing::Pair;

class SlotTest : public ::testing::Test {
 protected:
  SlotTest() {
    world_.converge = [this] { slot_->Converge(may_replace_); };
    world_.on_exit = [this](const GenerationId& id, const ExitRecord& record) {
      slot_->HandleExit(id, record);
    };
  }

  void Begin(const GroupTarget& target) {
    slot_ = std::make_unique<Slot>(world_.parts, world_, target, 0);
  }
  void Apply(const GroupTarget& target) {
    if (slot_ == nullptr) Begin(target);
    slot_->SetTarget(target);
    world_.Changed();
    world_.Settle();
  }
  // As by kill -9, and the next supervisor.
  void BeginAgain(const GroupTarget& target) {
    slot_.reset();
    Begin(target);
  }
  absl::Status Adopt(uint32_t generation) {
    return slot_->Adopt(Id(generation), world_.Held(Id(generation)), 77);
  }
  void Recycle(RecycleReason reason = RecycleReason::kOperator) {
    slot_->Recycle(reason, [this](bool served) { recycled_.push_back(served); });
    world_.Settle();
  }
  void Crash(uint32_t generation, int signal = SIGSEGV) {
    world_.workers.Crash(Id(generation).ProcessName(), signal);
    world_.Settle();
  }
  static GenerationId Id(uint32_t generation) { return {"g", 0, generation}; }
  FakeWorker& worker(uint32_t generation) { return *world_.worker(0, generation); }
  // "1 ready": generation and status, in the slot's order.
  std::vector<std::string> States() {
    std::vector<std::string> states;
    for (const Worker* worker : slot_->Workers()) {
      const Generation* generation = worker->generation();
      states.push_back(absl::StrCat(generation == nullptr ? 0 : generation->id().number, " ",
                                    Name(worker->status())));
    }
    return states;
  }

  GroupWorld world_;
  bool may_replace_ = true;
  std::vector<bool> recycled_;
  std::unique_ptr<Slot> slot_;
};

TEST_F(SlotTest, ReplacesOnlyWhenItMayAndSaysWhenItDoes) {
  Apply(world_.Group({world_.Service(1)}));
  may_replace_ = false;
  Apply(world_.Group({world_.Service(1, 2)}));
  EXPECT_THAT(States(), ElementsAre("1 ready"));
  EXPECT_FALSE(slot_->replacing());
  EXPECT_FALSE(slot_->settled());
  may_replace_ = true;
  world_.workers.behaviour.hanging.insert("s1");
  world_.Changed();
  world_.Settle();
  EXPECT_THAT(States(), ElementsAre("1 ready", "2 starting"));
  EXPECT_TRUE(slot_->replacing());
}

TEST_F(SlotTest, AMissingWorkerIsStartedWhetherItMayReplaceOrNot) {
  may_replace_ = false;
  Apply(world_.Group({world_.Service(1)}));
  EXPECT_THAT(States(), ElementsAre("1 ready"));
  Crash(1);
  EXPECT_THAT(States(), ElementsAre("2 ready"));
}

TEST_F(SlotTest, NumbersGoOnAboveThoseOfTheLedger) {
  world_.last_generation = 41;
  Apply(world_.Group({world_.Service(1)}));
  EXPECT_THAT(States(), ElementsAre("42 ready"));
  EXPECT_THAT(world_.restarts, IsEmpty());
  Crash(42);
  EXPECT_THAT(States(), ElementsAre("43 ready"));
  EXPECT_THAT(world_.restarts, ElementsAre(Pair(Id(43), RecycleReason::kCrash)));
}

TEST_F(SlotTest, AChangeWhileTheReplacementStartsBeginsAnotherOne) {
  Apply(world_.Group({world_.Service(1)}));
  world_.workers.behaviour.hanging.insert("s1");
  Apply(world_.Group({world_.Service(1, 2)}));
  ASSERT_THAT(States(), ElementsAre("1 ready", "2 starting"));
  world_.workers.behaviour.hanging.clear();
  Apply(world_.Group({world_.Service(1, 3)}));
  EXPECT_THAT(States(), ElementsAre("3 ready"));
  EXPECT_EQ(slot_->Workers()[0]->generation()->roster().services().at(1).revision, 3);
}

TEST_F(SlotTest, AWorkerThatHasNeverServedIsNotWaitedFor) {
  world_.workers.behaviour.hanging.insert("s1");
  Apply(world_.Group({world_.Service(1)}));
  ASSERT_THAT(States(), ElementsAre("1 starting"));
  world_.workers.behaviour.hanging.clear();
  // Also when another slot of the group is being replaced.
  may_replace_ = false;
  Apply(world_.Group({world_.Service(1, 2)}));
  EXPECT_THAT(States(), ElementsAre("2 ready"));
}

TEST_F(SlotTest, WhenThePredecessorDiesItsReplacementServesAndTheRecycleIsDone) {
  Apply(world_.Group({world_.Service(1)}));
  world_.workers.behaviour.hanging.insert("s1");
  Recycle();
  ASSERT_THAT(States(), ElementsAre("1 ready", "2 starting"));
  Crash(1);
  EXPECT_THAT(States(), ElementsAre("2 starting"));
  EXPECT_THAT(recycled_, IsEmpty());
  world_.worker(0, 2)->SendServiceState(1, RowState::kReady);
  world_.workers.behaviour.hanging.clear();
  world_.workers.CutChannels();
  world_.Pass(absl::Seconds(1));
  EXPECT_THAT(States(), ElementsAre("2 ready"));
  EXPECT_THAT(recycled_, ElementsAre(true));
  EXPECT_TRUE(slot_->settled());
}

TEST_F(SlotTest, ARecycleOfASlotWithoutServicesFailsAtOnce) {
  Apply(world_.Group({}));
  Recycle();
  EXPECT_THAT(recycled_, ElementsAre(false));
  Apply(world_.Group({world_.Service(1)}));
  // It was answered: it is not done later.
  EXPECT_THAT(States(), ElementsAre("1 ready"));
}

TEST_F(SlotTest, ARecycleOfAWorkerThatDoesNotStartIsAnsweredAllTheSame) {
  Apply(world_.Group({world_.Service(1)}));
  world_.workers.launcher().FailLaunches(absl::NotFoundError("exec '/x': No such file"));
  Crash(1);
  Recycle();
  world_.Pass(absl::Minutes(2));
  EXPECT_THAT(recycled_, ElementsAre(false));
  world_.workers.launcher().FailLaunches(absl::OkStatus());
  world_.Pass(absl::Minutes(1));
  // The new process is as new as the recycle wanted one.
  EXPECT_EQ(world_.workers.launcher().launched().size(), 2);
  EXPECT_TRUE(slot_->settled());
}

TEST_F(SlotTest, RecyclesThatAreAskedForTogetherAreOneReplacement) {
  Apply(world_.Group({world_.Service(1)}));
  slot_->Recycle(RecycleReason::kOperator, [this](bool served) { recycled_.push_back(served); });
  Recycle(RecycleReason::kAge);
  EXPECT_THAT(recycled_, ElementsAre(true, true));
  EXPECT_THAT(States(), ElementsAre("2 ready"));
}

TEST_F(SlotTest, ARejectedReplacementIsNotTriedAgainAtOnce) {
  Apply(world_.Group({world_.Service(1)}));
  world_.workers.behaviour.failing["s1"] = "bad settings";
  Apply(world_.Group({world_.Service(1, 2)}));
  EXPECT_TRUE(world_.Told("recycle", "bad settings"));
  EXPECT_EQ(world_.workers.launcher().launched().size(), 2);
  EXPECT_TRUE(slot_->settled());
  world_.Pass(absl::Milliseconds(990));
  EXPECT_EQ(world_.workers.launcher().launched().size(), 2);
  world_.Pass(absl::Milliseconds(20));
  EXPECT_EQ(world_.workers.launcher().launched().size(), 3);
  // Rarer and rarer, and never not at all.
  world_.Pass(absl::Minutes(10));
  const size_t after_a_while = world_.workers.launcher().launched().size();
  EXPECT_LT(after_a_while, 40);
  world_.Pass(absl::Seconds(31));
  EXPECT_GT(world_.workers.launcher().launched().size(), after_a_while);
}

TEST_F(SlotTest, ANewTargetOrAnOperatorIsWorthAnotherTryAtOnce) {
  Apply(world_.Group({world_.Service(1)}));
  world_.workers.behaviour.failing["s1"] = "bad settings";
  Apply(world_.Group({world_.Service(1, 2)}));
  // The same target again is none.
  Apply(world_.Group({world_.Service(1, 2)}));
  EXPECT_EQ(world_.workers.launcher().launched().size(), 2);
  slot_->RetryService(1);
  world_.Settle();
  EXPECT_EQ(world_.workers.launcher().launched().size(), 3);
  world_.workers.behaviour.failing.clear();
  Apply(world_.Group({world_.Service(1, 3)}));
  EXPECT_THAT(States(), ElementsAre("4 ready"));
}

TEST_F(SlotTest, AServiceThatHasFailedBeforeDoesNotRejectTheReplacement) {
  world_.workers.behaviour.failing["s1"] = "no such table";
  Apply(world_.Group({world_.Service(1), world_.Service(2)}));
  Recycle();
  EXPECT_THAT(recycled_, ElementsAre(true));
  EXPECT_THAT(States(), ElementsAre("2 ready"));
}

TEST_F(SlotTest, OfTooManyDrainsTheOldestIsCut) {
  world_.workers.behaviour.never_drained = true;
  world_.workers.behaviour.ignores_stop = true;
  Apply(world_.Group({world_.Service(1)}));
  for (uint64_t revision = 2; revision <= 1 + Slot::kMaxRetired; ++revision) {
    Apply(world_.Group({world_.Service(1, revision)}));
  }
  EXPECT_THAT(States(), ElementsAre("1 draining", "2 draining", "3 ready"));
  EXPECT_FALSE(world_.Told("recycle", "its drain is cut"));
  Apply(world_.Group({world_.Service(1, 9)}));
  EXPECT_THAT(States(), ElementsAre("1 stopping", "2 draining", "3 draining", "4 ready"));
  EXPECT_TRUE(world_.Told("recycle", "its drain is cut"));
}

// Blame.

TEST_F(SlotTest, AServiceWhoseLoadingIsKilledTwiceFromOutsideIsBlamed) {
  world_.workers.behaviour.hanging.insert("s1");
  Apply(world_.Group({world_.Service(1), world_.Service(2)}));
  Crash(1, SIGKILL);
  EXPECT_EQ(slot_->FailureOf(*world_.Service(1)), "");
  ASSERT_THAT(States(), ElementsAre("2 starting"));
  Crash(2, SIGKILL);
  world_.Pass(absl::Seconds(1));
  EXPECT_EQ(slot_->FailureOf(*world_.Service(1)), "died while loading");
  EXPECT_THAT(States(), ElementsAre("3 ready"));
  EXPECT_THAT(worker(3).services(), ElementsAre(2));
  EXPECT_EQ(slot_->FailureOf(*world_.Service(2)), "");
  EXPECT_EQ(slot_->last_exit(), "signal 9 (SIGKILL)");
  // The next supervisor is told.
  EXPECT_THAT(slot_->Workers()[0]->generation()->record().blamed, ElementsAre(Pair(1, 1)));
}

TEST_F(SlotTest, ADeathForWantOfMemoryIsTheLoadingServicesOwn) {
  world_.workers.behaviour.hanging.insert("s1");
  Apply(world_.Group({world_.Service(1), world_.Service(2)}));
  ExitRecord record;
  record.name = Id(1).ProcessName();
  record.signal = SIGKILL;
  record.out_of_memory = true;
  world_.workers.launcher().End(record);
  world_.Settle();
  EXPECT_EQ(slot_->FailureOf(*world_.Service(1)), "died while loading");
  EXPECT_THAT(worker(2).services(), ElementsAre(2));
}

TEST_F(SlotTest, ADeathWhileNothingIsLoadedBlamesNobody) {
  Apply(world_.Group({world_.Service(1), world_.Service(2)}));
  Crash(1);
  Crash(2);
  world_.Pass(absl::Minutes(1));
  EXPECT_EQ(slot_->FailureOf(*world_.Service(1)), "");
  EXPECT_EQ(slot_->FailureOf(*world_.Service(2)), "");
  EXPECT_TRUE(slot_->settled());
}

TEST_F(SlotTest, AnEndThatWasAskedForIsNoCrash) {
  Apply(world_.Group({world_.Service(1)}));
  world_.workers.behaviour.never_drained = true;
  Apply(world_.Group({world_.Service(1, 2)}));
  ASSERT_THAT(States(), ElementsAre("1 draining", "2 ready"));
  Crash(1);
  EXPECT_EQ(slot_->last_exit(), "");
  EXPECT_THAT(world_.folded, ElementsAre(Id(1)));
}

TEST_F(SlotTest, AnExitOfAnotherGenerationIsNotItsOwn) {
  Apply(world_.Group({world_.Service(1)}));
  EXPECT_FALSE(slot_->HandleExit(Id(2), ExitRecord{}));
  EXPECT_FALSE(slot_->HandleExit({"h", 0, 1}, ExitRecord{}));
  EXPECT_THAT(States(), ElementsAre("1 ready"));
}

TEST_F(SlotTest, ADeathThatNobodySawMakesTheNextOneCountAtOnce) {
  Begin(world_.Group({world_.Service(1), world_.Service(2)}));
  GenerationRecord record;
  record.blamed[2] = 1;
  slot_->AdoptDead(Id(7), record, {1});
  world_.workers.behaviour.hanging.insert("s1");
  Apply(world_.Group({world_.Service(1), world_.Service(2)}));
  EXPECT_THAT(States(), ElementsAre("8 starting"));
  EXPECT_EQ(slot_->FailureOf(*world_.Service(2)), "died while loading");
  Crash(8, SIGKILL);
  EXPECT_EQ(slot_->FailureOf(*world_.Service(1)), "died while loading");
  EXPECT_THAT(States(), IsEmpty());
}

// Adoption.

TEST_F(SlotTest, OfTwoGenerationsTheOlderServesUntilTheNewerIsReady) {
  Apply(world_.Group({world_.Service(1), world_.Service(2)}));
  world_.workers.behaviour.hanging.insert("s2");
  const GroupTarget target = world_.Group({world_.Service(1, 2), world_.Service(2)});
  Apply(target);
  BeginAgain(target);
  ASSERT_TRUE(Adopt(1).ok());
  ASSERT_TRUE(Adopt(2).ok());
  EXPECT_TRUE(slot_->replacing());
  Apply(target);
  // The newer one has a ready service: it counts as ready, and not yet as whole.
  EXPECT_THAT(States(), ElementsAre("1 ready", "2 ready"));
  EXPECT_FALSE(worker(1).draining());
  worker(2).SendServiceState(2, RowState::kReady);
  world_.Settle();
  EXPECT_THAT(States(), ElementsAre("2 ready"));
  EXPECT_EQ(world_.workers.launcher().launched().size(), 2);
}

TEST_F(SlotTest, OfTwoGenerationsThatAreReadyTheNewerTakesOver) {
  Apply(world_.Group({world_.Service(1)}));
  world_.workers.behaviour.never_drained = true;
  Apply(world_.Group({world_.Service(1, 2)}));
  // As when the supervisor died before the first one was told to drain.
  HeldEntry first = world_.Held(Id(1));
  ASSERT_TRUE(worker(1).draining());
  BeginAgain(world_.Group({world_.Service(1, 2)}));
  ASSERT_TRUE(slot_->Adopt(Id(1), std::move(first), 77).ok());
  ASSERT_TRUE(Adopt(2).ok());
  Apply(world_.Group({world_.Service(1, 2)}));
  EXPECT_THAT(States(), ElementsAre("1 draining", "2 ready"));
  worker(1).SendDrained();
  world_.Settle();
  EXPECT_THAT(States(), ElementsAre("2 ready"));
}

TEST_F(SlotTest, OfThreeGenerationsTheOldestDrains) {
  world_.workers.behaviour.never_drained = true;
  Apply(world_.Group({world_.Service(1)}));
  Apply(world_.Group({world_.Service(1, 2)}));
  world_.workers.behaviour.hanging.insert("s1");
  const GroupTarget target = world_.Group({world_.Service(1, 3)});
  Apply(target);
  ASSERT_THAT(States(), ElementsAre("1 draining", "2 ready", "3 starting"));
  BeginAgain(target);
  for (uint32_t generation = 1; generation <= 3; ++generation) {
    ASSERT_TRUE(Adopt(generation).ok());
  }
  Apply(target);
  EXPECT_THAT(States(), ElementsAre("1 draining", "2 ready", "3 starting"));
  EXPECT_FALSE(worker(2).draining());
}

TEST_F(SlotTest, AnEntryThatCannotBeAdoptedLeavesTheOthers) {
  Apply(world_.Group({world_.Service(1)}));
  BeginAgain(world_.Group({world_.Service(1)}));
  HeldEntry broken = world_.Held(Id(1));
  broken.blob = "version 9\n";
  EXPECT_FALSE(slot_->Adopt(Id(1), std::move(broken), 77).ok());
  EXPECT_TRUE(slot_->empty());
  ASSERT_TRUE(Adopt(1).ok());
  Apply(world_.Group({world_.Service(1)}));
  EXPECT_THAT(States(), ElementsAre("1 ready"));
}

TEST_F(SlotTest, AnAdoptedWorkerOfOtherLimitsIsReplaced) {
  Apply(world_.Group({world_.Service(1)}));
  GroupTarget target = world_.Group({world_.Service(1)});
  target.policy.limits.memory = MiB(100);
  BeginAgain(target);
  ASSERT_TRUE(Adopt(1).ok());
  Apply(target);
  EXPECT_THAT(States(), ElementsAre("2 ready"));
  EXPECT_THAT(world_.restarts, ElementsAre(Pair(Id(2), RecycleReason::kConfiguration)));
}

// Services that come and go.

TEST_F(SlotTest, AServiceThatMayNotGoStaysUntilItMay) {
  Apply(world_.Group({world_.Service(1), world_.Service(2), world_.Service(3)}));
  world_.unremovable = {1};
  Apply(world_.Group({world_.Service(2)}));
  EXPECT_THAT(worker(1).services(), ElementsAre(1, 2));
  EXPECT_EQ(worker(1).tokens().size(), 2);
  EXPECT_FALSE(slot_->Wants(1));
  EXPECT_TRUE(slot_->Serves(1));
  // Nor does it hold a whole slot that nobody wants.
  slot_->Abandon();
  world_.Changed();
  world_.Settle();
  EXPECT_THAT(worker(1).services(), ElementsAre(1));
  world_.unremovable.clear();
  world_.Changed();
  world_.Settle();
  EXPECT_TRUE(slot_->empty());
  EXPECT_THAT(world_.workers.Names(), IsEmpty());
}

TEST_F(SlotTest, AServiceThatMayNotComeWaitsUntilItMay) {
  world_.unassignable = {1};
  Apply(world_.Group({world_.Service(1), world_.Service(2)}));
  EXPECT_THAT(worker(1).services(), ElementsAre(2));
  EXPECT_FALSE(slot_->settled());
  world_.unassignable.clear();
  world_.Changed();
  world_.Settle();
  EXPECT_THAT(worker(1).services(), ElementsAre(1, 2));
  EXPECT_TRUE(slot_->settled());
}

TEST_F(SlotTest, AnEndKeepsTheShorterOfBothLimits) {
  world_.workers.behaviour.never_drained = true;
  world_.workers.behaviour.ignores_stop = true;
  GroupTarget target = world_.Group({world_.Service(1)});
  target.policy.drain_timeout = absl::Seconds(20);
  Apply(target);
  slot_->End(absl::Seconds(3));
  world_.Settle();
  EXPECT_THAT(States(), ElementsAre("1 draining"));
  world_.Pass(absl::Seconds(3) + Worker::kDrainMargin);
  EXPECT_THAT(States(), ElementsAre("1 stopping"));
  // A new target begins nothing any more.
  Apply(target);
  world_.Pass(target.policy.stop_timeout + absl::Seconds(1));
  EXPECT_TRUE(slot_->empty());
  EXPECT_THAT(world_.workers.Names(), IsEmpty());
}

TEST_F(SlotTest, AnEndAnswersTheRecycleThatIsUnderWay) {
  Apply(world_.Group({world_.Service(1)}));
  world_.workers.behaviour.hanging.insert("s1");
  Recycle();
  slot_->End(absl::Seconds(1));
  world_.Settle();
  EXPECT_THAT(recycled_, ElementsAre(false));
  EXPECT_TRUE(slot_->empty());
}

}  // namespace
}  // namespace cohost::supervisor
