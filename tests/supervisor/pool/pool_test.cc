// SPDX-License-Identifier: Apache-2.0
#include "supervisor/pool/pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "tests/supervisor/pool/pool_world.h"

namespace cohost::supervisor {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

TEST(Pool, StartsAWorkerForEachSlotAndAssignsItsServices) {
  PoolWorld world;
  world.Apply({world.Group("g", {world.Service(1), world.Service(2)}, 2)});
  EXPECT_THAT(world.States(), ElementsAre("g/0/1 ready", "g/1/1 ready"));
  EXPECT_THAT(world.worker("g/0/1").services(), ElementsAre(1, 2));
  EXPECT_THAT(world.worker("g/1/1").services(), ElementsAre(1, 2));
  EXPECT_EQ(world.worker("g/0/1").tokens().size(), 2);
  EXPECT_TRUE(world.pool().settled());
  EXPECT_EQ(world.ServiceOf(1).status, ServiceStatus::kReady);
  EXPECT_EQ(world.ServiceOf(1).ready_workers, 2);
  EXPECT_EQ(world.ServiceOf(1).warmup, absl::Milliseconds(7));
}

TEST(Pool, GivesAWorkerWhatItNeedsAndNothingElse) {
  PoolWorld world;
  GroupTarget group = world.Group("g", {world.Service(1)});
  group.identity.uid = 1234;
  group.policy.limits.memory = MiB(64);
  world.Apply({group});
  const ProcessSpec& spec = world.workers.launcher().launched().front();
  EXPECT_EQ(spec.name, "worker/g/0/1");
  EXPECT_EQ(spec.program, "/usr/libexec/cohost-worker");
  EXPECT_THAT(spec.environment, ElementsAre("PATH=/usr/bin", "LANG=C.UTF-8", "COHOST_GROUP=g",
                                            "COHOST_SLOT=0", "COHOST_GENERATION=1"));
  std::vector<int> numbers;
  for (const auto& [number, fd] : spec.descriptors) numbers.push_back(number);
  EXPECT_THAT(numbers, UnorderedElementsAre(1, 2, 3, 4));
  EXPECT_EQ(spec.identity.uid, 1234u);
  EXPECT_EQ(spec.limits.oom_score_adjust, 300);
  EXPECT_EQ(spec.limits.memory, MiB(64));
}

TEST(Pool, AServiceOfOneInstanceRunsInTheFirstSlotOnly) {
  PoolWorld world;
  auto one = world.Service(1);
  one->instances = Instances::kOne;
  world.Apply({world.Group("g", {one, world.Service(2)}, 2)});
  EXPECT_THAT(world.worker("g/0/1").services(), ElementsAre(1, 2));
  EXPECT_THAT(world.worker("g/1/1").services(), ElementsAre(2));
  EXPECT_EQ(world.ServiceOf(1).workers, 1);
}

TEST(Pool, ASlotWithoutServicesHasNoWorker) {
  PoolWorld world;
  auto one = world.Service(1);
  one->instances = Instances::kOne;
  world.Apply({world.Group("g", {one}, 2)});
  EXPECT_THAT(world.States(), ElementsAre("g/0/1 ready"));
  EXPECT_TRUE(world.pool().settled());
}

TEST(Pool, AFailingServiceDoesNotStopTheOthers) {
  PoolWorld world;
  world.workers.behaviour.failing["s1"] = "no such table";
  world.Apply({world.Group("g", {world.Service(1), world.Service(2)})});
  EXPECT_THAT(world.States(), ElementsAre("g/0/1 ready"));
  EXPECT_EQ(world.ServiceOf(1).status, ServiceStatus::kFailed);
  EXPECT_EQ(world.ServiceOf(1).reason, "no such table");
  EXPECT_EQ(world.ServiceOf(2).status, ServiceStatus::kReady);
  EXPECT_TRUE(world.pool().settled());
}

TEST(Pool, AServiceThatKillsTheWorkerWhileLoadingIsLeftOut) {
  PoolWorld world;
  world.workers.behaviour.deadly.insert("s1");
  world.Apply({world.Group("g", {world.Service(1), world.Service(2)})});
  EXPECT_THAT(world.States(), ElementsAre("g/0/2 ready"));
  EXPECT_THAT(world.worker("g/0/2").services(), ElementsAre(2));
  EXPECT_EQ(world.ServiceOf(1).status, ServiceStatus::kFailed);
  EXPECT_EQ(world.ServiceOf(1).reason, "died while loading");
  EXPECT_TRUE(world.Told("service_state", "died while loading: signal 11"));

  // An operator's start tries it again, in place.
  world.workers.behaviour.deadly.clear();
  world.pool().RetryService(1);
  world.Settle();
  EXPECT_THAT(world.States(), ElementsAre("g/0/2 ready"));
  EXPECT_THAT(world.worker("g/0/2").services(), ElementsAre(1, 2));
}

TEST(Pool, ANewRevisionOfAServiceThatDiedIsTried) {
  PoolWorld world;
  world.workers.behaviour.deadly.insert("s1");
  world.Apply({world.Group("g", {world.Service(1), world.Service(2)})});
  world.workers.behaviour.deadly.clear();
  world.Apply({world.Group("g", {world.Service(1, 2), world.Service(2)})});
  EXPECT_THAT(world.worker("g/0/2").services(), ElementsAre(1, 2));
}

TEST(Pool, AKillFromOutsideIsNotTheLoadingServicesFaultTheFirstTime) {
  PoolWorld world;
  world.workers.behaviour.hanging.insert("s1");
  world.Apply({world.Group("g", {world.Service(1)})});
  world.workers.behaviour.hanging.clear();
  world.workers.Crash("worker/g/0/1", SIGKILL);
  world.Settle();
  EXPECT_THAT(world.worker("g/0/2").services(), ElementsAre(1));
}

TEST(Pool, AListenerThatIsNoneFailsItsServiceOnly) {
  PoolWorld world;
  auto broken = world.Service(1);
  broken->listeners[0].descriptor = -1;
  world.Apply({world.Group("g", {broken, world.Service(2)})});
  EXPECT_THAT(world.States(), ElementsAre("g/0/1 ready"));
  EXPECT_EQ(world.ServiceOf(1).status, ServiceStatus::kFailed);
  EXPECT_EQ(world.ServiceOf(2).status, ServiceStatus::kReady);
}

TEST(Pool, ACrashedWorkerComesBackAtOnce) {
  PoolWorld world;
  world.Apply({world.Group("g", {world.Service(1)})});
  world.worker("g/0/1").Count(1, 5);
  const SteadyTime before = world.time.Steady();
  world.workers.Crash("worker/g/0/1", SIGSEGV);
  world.Settle();
  EXPECT_EQ(world.time.Steady(), before);
  EXPECT_THAT(world.States(), ElementsAre("g/0/2 ready"));
  EXPECT_EQ(world.Requests(1), 5);
  const WorkerView worker = world.Snapshot().workers.front();
  EXPECT_EQ(worker.last_exit, "signal 11 (SIGSEGV)");
  EXPECT_EQ(worker.restarts[static_cast<size_t>(RecycleReason::kCrash)], 1);
  EXPECT_TRUE(world.Told("worker_exit", "signal 11"));
}

TEST(Pool, AnExitThatNobodyAskedForIsACrashWhateverTheCode) {
  PoolWorld world;
  world.Apply({world.Group("g", {world.Service(1)})});
  world.workers.Exit("worker/g/0/1", 0);
  world.Settle();
  EXPECT_THAT(world.States(), ElementsAre("g/0/2 ready"));
  EXPECT_TRUE(world.Told("worker_exit", "exit code 0"));
}

TEST(Pool, ASecondCrashWaitsAndAnOperatorsStartDoesNot) {
  PoolWorld world;
  world.Apply({world.Group("g", {world.Service(1)})});
  world.workers.Crash("worker/g/0/1", SIGSEGV);
  world.Settle();
  world.workers.Crash("worker/g/0/2", SIGSEGV);
  world.Settle();
  EXPECT_THAT(world.States(), ElementsAre("g/0/0 backoff"));
  EXPECT_TRUE(world.Snapshot().workers.front().next_attempt.has_value());
  world.pool().RetryService(1);
  world.Settle();
  EXPECT_THAT(world.States(), ElementsAre("g/0/3 ready"));
  world.workers.Crash("worker/g/0/3", SIGSEGV);
  world.Settle();
  EXPECT_THAT(world.States(), ElementsAre("g/0/4 ready"));
}

TEST(Pool, BackOffEndsByItself) {
  PoolWorld world;
  world.Apply({world.Group("g", {world.Service(1)})});
  for (int i = 1; i <= 2; ++i) {
    world.workers.Crash("worker/g/0/" + std::to_string(i), SIGSEGV);
    world.Settle();
  }
  world.Pass(absl::Milliseconds(250));
  EXPECT_THAT(world.States(), ElementsAre("g/0/3 ready"));
}

TEST(Pool, SiblingsAreRearmedWhenAWorkerDies) {
  PoolWorld world;
  world.Apply({world.Group("g", {world.Service(1)}, 2), world.Group("h", {world.Service(2)})});
  world.workers.Crash("worker/g/0/1", SIGSEGV);
  world.Settle();
  EXPECT_EQ(world.worker("g/1/1").rearms(), 1);
  EXPECT_EQ(world.worker("h/0/1").rearms(), 0);
}

TEST(Pool, AChangedServiceGetsANewWorkerAndTheOldOneDrains) {
  PoolWorld world;
  world.Apply({world.Group("g", {world.Service(1), world.Service(2)}),
               world.Group("h", {world.Service(3)})});
  world.workers.behaviour.never_drained = true;
  world.Apply({world.Group("g", {world.Service(1, 2), world.Service(2)}),
               world.Group("h", {world.Service(3)})});
  EXPECT_THAT(world.States(), ElementsAre("g/0/1 draining", "g/0/2 ready", "h/0/1 ready"));
  EXPECT_EQ(world.worker("g/0/1").successors(), 1);
  EXPECT_EQ(world.worker("g/0/2").predecessors(), 1);
  world.worker("g/0/1").SendDrained();
  world.Settle();
  EXPECT_THAT(world.States(), ElementsAre("g/0/2 ready", "h/0/1 ready"));
  EXPECT_EQ(world.Snapshot().workers[0].restarts[static_cast<size_t>(RecycleReason::kModuleChange)],
            1);
}

TEST(Pool, TheOldWorkerServesUntilTheNewOneHasReportedEveryService) {
  PoolWorld world;
  world.Apply({world.Group("g", {world.Service(1), world.Service(2)})});
  world.workers.behaviour.hanging.insert("s2");
  world.Apply({world.Group("g", {world.Service(1, 2), world.Service(2)})});
  EXPECT_THAT(world.States(), ElementsAre("g/0/1 ready", "g/0/2 starting"));
  EXPECT_FALSE(world.worker("g/0/1").draining());
  EXPECT_FALSE(world.pool().settled());
}

TEST(Pool, AReplacementThatWouldLoseAServiceIsRejected) {
  PoolWorld world;
  world.Apply({world.Group("g", {world.Service(1), world.Service(2)})});
  world.workers.behaviour.failing["s1"] = "bad settings";
  world.Apply({world.Group("g", {world.Service(1, 2), world.Service(2)})});
  EXPECT_THAT(world.States(), ElementsAre("g/0/1 ready"));
  EXPECT_TRUE(world.Told("recycle", "rejected: service 's1'"));
  EXPECT_THAT(world.worker("g/0/1").services(), ElementsAre(1, 2));
  // It is tried again by itself, and takes over when it can.
  world.workers.behaviour.failing.clear();
  world.Pass(absl::Seconds(2));
  EXPECT_EQ(world.States().size(), 1);
  EXPECT_EQ(world.ServiceOf(1).status, ServiceStatus::kReady);
  EXPECT_TRUE(world.pool().settled());
  EXPECT_EQ(world.workers.Find("worker/g/0/1"), nullptr);
}

TEST(Pool, ARevisionThatDiesWhileLoadingLeavesTheOldOneServing) {
  PoolWorld world;
  world.Apply({world.Group("g", {world.Service(1), world.Service(2)})});
  world.workers.behaviour.deadly.insert("s1");
  world.Apply({world.Group("g", {world.Service(1, 2), world.Service(2)})});
  world.Pass(absl::Minutes(2));
  EXPECT_THAT(world.States(), ElementsAre("g/0/1 ready"));
  EXPECT_THAT(world.worker("g/0/1").services(), ElementsAre(1, 2));
}

TEST(Pool, OneSlotOfAGroupIsReplacedAtATime) {
  PoolWorld world;
  world.Apply({world.Group("g", {world.Service(1)}, 3)});
  world.workers.behaviour.hanging.insert("s1");
  world.Apply({world.Group("g", {world.Service(1, 2)}, 3)});
  EXPECT_THAT(world.States(),
              ElementsAre("g/0/1 ready", "g/0/2 starting", "g/1/1 ready", "g/2/1 ready"));
  world.workers.behaviour.hanging.clear();
  world.workers.Crash("worker/g/0/2", SIGKILL);
  world.Pass(absl::Seconds(5));
  EXPECT_TRUE(world.pool().settled());
  for (const WorkerView& worker : world.Snapshot().workers) EXPECT_GT(worker.generation, 1);
}

TEST(Pool, ATargetWithoutChangesTouchesNothing) {
  PoolWorld world;
  world.Apply({world.Group("g", {world.Service(1), world.Service(2)}, 2)});
  const uint32_t assigns = world.workers.assigns;
  world.Apply({world.Group("g", {world.Service(2), world.Service(1)}, 2)});
  EXPECT_THAT(world.States(), ElementsAre("g/0/1 ready", "g/1/1 ready"));
  EXPECT_EQ(world.workers.assigns, assigns);
}

TEST(Pool, ServicesComeAndGoInPlace) {
  PoolWorld world;
  world.Apply({world.Group("g", {world.Service(1)})});
  for (int round = 0; round < 20; ++round) {
    world.Apply({world.Group("g", {world.Service(1), world.Service(2)})});
    EXPECT_THAT(world.worker("g/0/1").services(), ElementsAre(1, 2));
    world.worker("g/0/1").Count(2, 1);
    world.Apply({world.Group("g", {world.Service(1)})});
    EXPECT_THAT(world.worker("g/0/1").services(), ElementsAre(1));
    EXPECT_EQ(world.worker("g/0/1").tokens().size(), 1);
  }
  EXPECT_THAT(world.States(), ElementsAre("g/0/1 ready"));
  EXPECT_EQ(world.Requests(2), 20);
}

TEST(Pool, ChangedLimitsNeedANewProcess) {
  PoolWorld world;
  world.Apply({world.Group("g", {world.Service(1)})});
  GroupTarget group = world.Group("g", {world.Service(1)});
  group.policy.limits.memory = MiB(100);
  world.Apply({group});
  EXPECT_THAT(world.States(), ElementsAre("g/0/2 ready"));
  group.policy.drain_timeout = absl::Seconds(1);
  world.Apply({group});
  EXPECT_THAT(world.States(), ElementsAre("g/0/2 ready"));
}

TEST(Pool, AServiceMovesWithoutAGap) {
  PoolWorld world;
  world.Apply({world.Group("g", {world.Service(1), world.Service(2)}),
               world.Group("h", {world.Service(3)})});
  world.workers.behaviour.hanging.insert("s1");
  world.Apply({world.Group("g", {world.Service(2)}),
               world.Group("h", {world.Service(3), world.Service(1)})});
  EXPECT_THAT(world.worker("g/0/1").services(), ElementsAre(1, 2));
  world.workers.behaviour.hanging.clear();
  world.worker("h/0/1").SendServiceState(1, RowState::kReady);
  world.workers.CutChannels();
  world.Pass(absl::Seconds(12));
  EXPECT_THAT(world.worker("g/0/1").services(), ElementsAre(2));
  EXPECT_THAT(world.worker("h/0/1").services(), ElementsAre(1, 3));
}

TEST(Pool, AGroupThatGoesServesUntilItsServicesAreReadyElsewhere) {
  PoolWorld world;
  world.Apply({world.Group("g", {world.Service(1)})});
  world.worker("g/0/1").Count(1, 3);
  world.workers.behaviour.hanging.insert("s1");
  world.Apply({world.Group("h", {world.Service(1)})});
  EXPECT_THAT(world.States(), ElementsAre("g/0/1 ready", "h/0/1 starting"));
  world.workers.behaviour.hanging.clear();
  world.workers.Crash("worker/h/0/1", SIGKILL);
  world.Settle();
  EXPECT_THAT(world.States(), ElementsAre("h/0/2 ready"));
  EXPECT_EQ(world.Requests(1), 3);
}

TEST(Pool, FewerWorkersDrainTheLastSlots) {
  PoolWorld world;
  world.Apply({world.Group("g", {world.Service(1)}, 3)});
  world.Apply({world.Group("g", {world.Service(1)}, 1)});
  EXPECT_THAT(world.States(), ElementsAre("g/0/1 ready"));
}

TEST(Pool, AServiceThatCannotOverlapIsStoppedThenStarted) {
  PoolWorld world;
  auto alone = world.Service(1);
  alone->overlap = false;
  world.Apply({world.Group("g", {alone})});
  world.workers.behaviour.never_drained = true;
  auto changed = world.Service(1, 2);
  changed->overlap = false;
  world.Apply({world.Group("g", {changed})});
  EXPECT_THAT(world.States(), ElementsAre("g/0/1 draining"));
  EXPECT_FALSE(world.pool().settled());
  world.worker("g/0/1").SendDrained();
  world.Settle();
  EXPECT_THAT(world.States(), ElementsAre("g/0/2 ready"));
}

TEST(Pool, ARecycleOfAGroupIsAnsweredWhenEveryNewWorkerServes) {
  PoolWorld world;
  world.Apply({world.Group("g", {world.Service(1)}, 2)});
  std::vector<std::string> recycled;
  std::vector<std::string> failed;
  ASSERT_TRUE(world.pool()
                  .Recycle("g", std::nullopt, RecycleReason::kOperator,
                           [&](auto done, auto not_done) {
                             recycled = done;
                             failed = not_done;
                           })
                  .ok());
  world.Settle();
  EXPECT_THAT(recycled, UnorderedElementsAre("g/0", "g/1"));
  EXPECT_THAT(failed, IsEmpty());
  EXPECT_THAT(world.States(), ElementsAre("g/0/2 ready", "g/1/2 ready"));
  EXPECT_EQ(world.Snapshot().workers[0].last_reason, RecycleReason::kOperator);
}

TEST(Pool, ARecycleThatCannotWorkFailsAndTheOldWorkerStays) {
  PoolWorld world;
  world.Apply({world.Group("g", {world.Service(1)})});
  world.workers.launcher().FailLaunches(absl::NotFoundError("exec '/x': No such file"));
  std::vector<std::string> failed;
  ASSERT_TRUE(world.pool()
                  .Recycle("g", 0, RecycleReason::kOperator,
                           [&](auto, auto not_done) { failed = not_done; })
                  .ok());
  world.Settle();
  EXPECT_THAT(failed, ElementsAre("g/0"));
  EXPECT_THAT(world.States(), ElementsAre("g/0/1 ready"));
}

TEST(Pool, RecyclingWhatIsNotThereIsAnError) {
  PoolWorld world;
  world.Apply({world.Group("g", {world.Service(1)})});
  const auto never = [](auto, auto) { FAIL(); };
  EXPECT_TRUE(absl::IsNotFound(world.pool().Recycle("x", {}, RecycleReason::kOperator, never)));
  EXPECT_TRUE(absl::IsNotFound(world.pool().Recycle("g", 9, RecycleReason::kOperator, never)));
}

TEST(Pool, CountersNeverFallOverGenerations) {
  PoolWorld world;
  world.Apply({world.Group("g", {world.Service(1)}, 2)});
  uint64_t last = 0;
  for (uint32_t generation = 1; generation <= 5; ++generation) {
    const std::string name = "g/0/" + std::to_string(generation);
    world.worker(name).Count(1, 10 * generation);
    EXPECT_GE(world.Requests(1), last + 10 * generation);
    last = world.Requests(1);
    world.workers.Crash("worker/" + name, SIGKILL);
    EXPECT_GE(world.Requests(1), last);
    world.Pass(absl::Seconds(40));
    EXPECT_EQ(world.Requests(1), last);
  }
}

TEST(Pool, StopAllDrainsAndStopsEverything) {
  PoolWorld world;
  world.Apply({world.Group("g", {world.Service(1)}, 2), world.Group("h", {world.Service(2)})});
  bool stopped = false;
  world.pool().StopAll(absl::Seconds(10), [&] { stopped = true; });
  world.Settle();
  EXPECT_TRUE(stopped);
  EXPECT_THAT(world.workers.Names(), IsEmpty());
  EXPECT_EQ(world.holder.entries().size(), 1);
}

TEST(Pool, StopAllEndsWithinItsLimitsWhateverWorkersDo) {
  PoolWorld world;
  world.Apply({world.Group("g", {world.Service(1)})});
  world.workers.behaviour.never_drained = true;
  world.workers.behaviour.ignores_stop = true;
  bool stopped = false;
  world.pool().StopAll(absl::Seconds(3), [&] { stopped = true; });
  world.Pass(absl::Seconds(4));
  EXPECT_FALSE(stopped);
  world.Pass(absl::Seconds(12));
  EXPECT_TRUE(stopped);
  EXPECT_THAT(world.workers.Names(), IsEmpty());
}

}  // namespace
}  // namespace cohost::supervisor
