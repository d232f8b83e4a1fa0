// SPDX-License-Identifier: Apache-2.0
//
// What a new supervisor makes of what the last one has left, wherever that one was killed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "supervisor/pool/pool.h"
#include "tests/supervisor/pool/pool_world.h"

namespace cohost::supervisor {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Adoption, LivingWorkersGoOn) {
  PoolWorld world;
  const std::vector<GroupTarget> target = {
      world.Group("g", {world.Service(1), world.Service(2)}, 2),
      world.Group("h", {world.Service(3)})};
  world.Apply(target);
  world.worker("g/0/1").Count(1, 5);
  const uint32_t assigns = world.workers.assigns;
  for (int i = 0; i < 10; ++i) {
    world.Die();
    world.Begin();
    world.Apply(target);
    EXPECT_THAT(world.States(), ElementsAre("g/0/1 ready", "g/1/1 ready", "h/0/1 ready"));
    EXPECT_TRUE(world.pool().settled());
    EXPECT_EQ(world.Requests(1), 5);
  }
  EXPECT_EQ(world.workers.assigns, assigns);
  EXPECT_EQ(world.workers.launcher().launched().size(), 3);
}

// Nothing is lost, whatever step the supervisor was at.
TEST(Adoption, ASupervisorKilledAtAnyStepOfAStartLosesNothing) {
  for (int steps = 0; steps < 40; ++steps) {
    SCOPED_TRACE(steps);
    PoolWorld world;
    const std::vector<GroupTarget> target = {
        world.Group("g", {world.Service(1), world.Service(2)}, 2)};
    world.pool().Apply(PoolTarget{target});
    for (int i = 0; i < steps; ++i) world.Step();
    world.Die();
    world.Begin();
    world.Apply(target);
    EXPECT_TRUE(world.pool().settled());
    EXPECT_EQ(world.workers.Names().size(), 2);
    EXPECT_EQ(world.ServiceOf(1).ready_workers, 2);
    EXPECT_EQ(world.ServiceOf(2).ready_workers, 2);
    // The ledger and a link for each worker.
    EXPECT_EQ(world.holder.entries().size(), 3);
  }
}

TEST(Adoption, ASupervisorKilledAtAnyStepOfAReplacementLosesNothing) {
  for (int steps = 0; steps < 60; ++steps) {
    SCOPED_TRACE(steps);
    PoolWorld world;
    world.Apply({world.Group("g", {world.Service(1), world.Service(2)})});
    world.worker("g/0/1").Count(1, 7);
    const std::vector<GroupTarget> target = {
        world.Group("g", {world.Service(1, 2), world.Service(2)})};
    world.pool().Apply(PoolTarget{target});
    for (int i = 0; i < steps; ++i) world.Step();
    world.Die();
    world.Begin();
    world.Apply(target);
    // A drain that the dead supervisor began ends at the latest by its limit.
    world.Pass(absl::Minutes(1));
    EXPECT_TRUE(world.pool().settled());
    EXPECT_EQ(world.workers.Names().size(), 1);
    EXPECT_EQ(world.Snapshot().workers.size(), 1);
    EXPECT_EQ(world.ServiceOf(1).status, ServiceStatus::kReady);
    EXPECT_EQ(world.Requests(1), 7);
    EXPECT_EQ(world.holder.entries().size(), 2);
  }
}

TEST(Adoption, AWorkerThatDiedMeanwhileIsFoldedOnceAndReplaced) {
  PoolWorld world;
  const std::vector<GroupTarget> target = {world.Group("g", {world.Service(1)})};
  world.Apply(target);
  world.worker("g/0/1").Count(1, 9);
  world.Die();
  world.workers.Crash("worker/g/0/1", SIGSEGV);
  world.Begin();
  world.Apply(target);
  EXPECT_THAT(world.States(), ElementsAre("g/0/2 ready"));
  EXPECT_EQ(world.Requests(1), 9);
  EXPECT_TRUE(world.Told("worker_exit", "signal 11"));
  EXPECT_FALSE(world.holder.entries().contains("link/g/0/1"));
}

TEST(Adoption, FoldersOfLivingWorkersStayAndThoseOfOthersGo) {
  PoolWorld world;
  std::vector<GroupTarget> target = {world.Group("g", {world.Service(1)}),
                                     world.Group("h", {world.Service(2)})};
  for (GroupTarget& group : target) group.diagnostics = true;
  world.Apply(target);
  const auto folders = [&world] {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(world.settings.worker_folders)) {
      names.insert(entry.path());
    }
    return names;
  };
  const std::set<std::string> before = folders();
  EXPECT_EQ(before.size(), 2u);
  world.Die();
  world.workers.Crash("worker/g/0/1", SIGKILL);
  world.Begin();
  const std::set<std::string> kept = folders();
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_TRUE(before.contains(*kept.begin()));
  world.Apply(target);
  EXPECT_EQ(world.Snapshot().workers[1].diagnostics_folder, *kept.begin());
  EXPECT_EQ(folders().size(), 2u) << "its successor has one of its own";
  world.workers.Crash("worker/h/0/1", SIGKILL);
  world.Settle();
  EXPECT_FALSE(folders().contains(*kept.begin()));
}

TEST(Adoption, AFoldedGenerationWhoseEntryIsStillHeldCountsOnce) {
  PoolWorld world;
  const std::vector<GroupTarget> target = {world.Group("g", {world.Service(1)})};
  world.Apply(target);
  world.worker("g/0/1").Count(1, 9);
  // As when the supervisor was killed between the fold and the release.
  HeldEntry kept = std::move(world.holder.CopyAll()[1]);
  ASSERT_EQ(kept.name, "link/g/0/1");
  world.workers.Crash("worker/g/0/1", SIGSEGV);
  world.Settle();
  world.Die();
  world.holder.Hold(kept.name, kept.blob, {kept.descriptors[0].get(), kept.descriptors[1].get()},
                    [](const absl::Status&) {});
  world.Begin();
  world.Apply(target);
  EXPECT_EQ(world.Requests(1), 9);
  EXPECT_THAT(world.States(), ElementsAre("g/0/2 ready"));
  EXPECT_FALSE(world.holder.entries().contains("link/g/0/1"));
}

TEST(Adoption, WorkersOfUnknownGroupsAreDrained) {
  PoolWorld world;
  world.Apply({world.Group("g", {world.Service(1)}), world.Group("h", {world.Service(2)})});
  world.Die();
  world.Begin();
  world.Apply({world.Group("g", {world.Service(1)})});
  EXPECT_THAT(world.States(), ElementsAre("g/0/1 ready"));
  EXPECT_THAT(world.workers.Names(), ElementsAre("worker/g/0/1"));
}

TEST(Adoption, AReplacementThatWasBegunGoesOnWhileTheOldWorkerServes) {
  PoolWorld world;
  world.Apply({world.Group("g", {world.Service(1), world.Service(2)})});
  world.workers.behaviour.hanging.insert("s2");
  const std::vector<GroupTarget> target = {
      world.Group("g", {world.Service(1, 2), world.Service(2)})};
  world.Apply(target);
  ASSERT_THAT(world.States(), ElementsAre("g/0/1 ready", "g/0/2 starting"));
  world.Die();
  world.Begin();
  world.Apply(target);
  EXPECT_EQ(world.States()[0], "g/0/1 ready");
  EXPECT_FALSE(world.worker("g/0/1").draining());
  EXPECT_FALSE(world.worker("g/0/1").wants_to_exit());
  EXPECT_EQ(world.ServiceOf(1).status, ServiceStatus::kReady);
  // The worker tells of the service that it was loading by itself.
  world.worker("g/0/2").SendServiceState(2, RowState::kReady);
  world.Settle();
  EXPECT_THAT(world.States(), ElementsAre("g/0/2 ready"));
  EXPECT_THAT(world.worker("g/0/2").services(), ElementsAre(1, 2));
}

TEST(Adoption, ADrainThatWasBegunIsFinished) {
  PoolWorld world;
  world.Apply({world.Group("g", {world.Service(1)})});
  world.workers.behaviour.never_drained = true;
  const std::vector<GroupTarget> target = {world.Group("g", {world.Service(1, 2)})};
  world.Apply(target);
  ASSERT_THAT(world.States(), ElementsAre("g/0/1 draining", "g/0/2 ready"));
  world.Die();
  world.Begin();
  world.Apply(target);
  EXPECT_THAT(world.States(), ElementsAre("g/0/1 draining", "g/0/2 ready"));
  world.worker("g/0/1").SendDrained();
  world.Settle();
  EXPECT_THAT(world.States(), ElementsAre("g/0/2 ready"));
}

TEST(Adoption, AServiceThatDiedWhileLoadingStaysOut) {
  PoolWorld world;
  world.workers.behaviour.deadly.insert("s1");
  const std::vector<GroupTarget> target = {world.Group("g", {world.Service(1), world.Service(2)})};
  world.Apply(target);
  world.Die();
  world.Begin();
  world.Apply(target);
  EXPECT_THAT(world.States(), ElementsAre("g/0/2 ready"));
  EXPECT_EQ(world.ServiceOf(1).reason, "died while loading");
  EXPECT_EQ(world.Snapshot().workers[0].last_exit, "signal 11 (SIGSEGV)");
}

TEST(Adoption, AFailedServiceStillSaysWhy) {
  PoolWorld world;
  world.workers.behaviour.failing["s1"] = "no such table";
  const std::vector<GroupTarget> target = {world.Group("g", {world.Service(1), world.Service(2)})};
  world.Apply(target);
  world.Die();
  world.Begin();
  world.Apply(target);
  EXPECT_EQ(world.ServiceOf(1).status, ServiceStatus::kFailed);
  EXPECT_EQ(world.ServiceOf(1).reason, "no such table");
}

TEST(Adoption, AnotherBuildIsServedOutAndReplaced) {
  PoolWorld world;
  const std::vector<GroupTarget> target = {world.Group("g", {world.Service(1)})};
  world.Apply(target);
  world.Die();
  world.settings.binary_id = "build-2";
  world.Begin();
  world.workers.behaviour.hanging.insert("s1");
  world.Apply(target);
  EXPECT_THAT(world.States(), ElementsAre("g/0/1 ready", "g/0/2 starting"));
  ASSERT_EQ(world.Snapshot().remarks.size(), 1);
  EXPECT_THAT(world.Snapshot().remarks[0], ::testing::HasSubstr("another build"));
}

TEST(Adoption, RestartsAreCountedOverSupervisors) {
  PoolWorld world;
  const std::vector<GroupTarget> target = {world.Group("g", {world.Service(1)})};
  world.Apply(target);
  world.workers.Crash("worker/g/0/1", SIGSEGV);
  world.Settle();
  world.Die();
  world.Begin();
  world.Apply(target);
  EXPECT_EQ(world.Snapshot().workers[0].restarts[static_cast<size_t>(RecycleReason::kCrash)], 1);
}

TEST(Adoption, EntriesThatCannotBeReadEndTheirWorkersAndHarmNobody) {
  PoolWorld world;
  const std::vector<GroupTarget> target = {world.Group("g", {world.Service(1)}),
                                           world.Group("h", {world.Service(2)})};
  world.Apply(target);
  world.Die();
  HeldEntry entry = std::move(world.holder.CopyAll()[1]);
  ASSERT_EQ(entry.name, "link/g/0/1");
  world.holder.Hold(entry.name, "version 9\n", {entry.descriptors[0].get()},
                    [](const absl::Status&) {});
  world.holder.Hold("link/nonsense", "", {}, [](const absl::Status&) {});
  world.Begin();
  world.Apply(target);
  EXPECT_THAT(world.States(), ElementsAre("g/0/2 ready", "h/0/1 ready"));
  EXPECT_TRUE(world.Told("pool_remark", "link/g/0/1"));
  EXPECT_EQ(world.holder.entries().size(), 3);
}

TEST(Adoption, ABrokenLedgerIsReportedAndReplaced) {
  PoolWorld world;
  world.Die();
  world.holder.Hold("ledger", "", {}, [](const absl::Status&) {});
  world.Begin();
  world.Apply({world.Group("g", {world.Service(1)})});
  EXPECT_THAT(world.States(), ElementsAre("g/0/1 ready"));
  EXPECT_TRUE(world.Told("pool_remark", "totals of ended workers are lost"));
}

TEST(Adoption, AWorkerThatIsSilentOnItsLinkIsReplaced) {
  PoolWorld world;
  const std::vector<GroupTarget> target = {world.Group("g", {world.Service(1)})};
  world.Apply(target);
  world.Die();
  world.workers.behaviour.silent_link = true;
  world.Begin();
  world.Apply(target);
  EXPECT_THAT(world.States(), ElementsAre("g/0/1 starting"));
  world.Pass(WorkerLink::kAnswerLimit);
  world.workers.behaviour.silent_link = false;
  world.Pass(absl::Seconds(1));
  EXPECT_THAT(world.States(), ElementsAre("g/0/2 ready"));
}

}  // namespace
}  // namespace cohost::supervisor
