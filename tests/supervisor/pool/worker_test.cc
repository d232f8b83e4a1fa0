// SPDX-License-Identifier: Apache-2.0
//
// One worker's troubles: health, limits, faults, ends that do not come.
#include "supervisor/pool/worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>

#include "tests/supervisor/pool/pool_world.h"

namespace cohost::supervisor {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;

TEST(Worker, AnUnhealthyWorkerIsReplacedAfterSeveralMisses) {
  PoolWorld world;
  world.Apply({world.Group("g", {world.Service(1)}), world.Group("h", {world.Service(2)}),
               world.Group("i", {world.Service(3)})});
  world.workers.behaviour.deaf = {"worker/g/0/1"};
  world.Pass(absl::Seconds(9));
  EXPECT_THAT(world.States(), Contains("g/0/1 ready"));
  world.Pass(absl::Seconds(12));
  EXPECT_THAT(world.States(), ElementsAre("g/0/2 ready", "h/0/1 ready", "i/0/1 ready"));
  EXPECT_EQ(world.Snapshot().workers[0].restarts[static_cast<size_t>(RecycleReason::kUnhealthy)],
            1);
}

TEST(Worker, WhenMostWorkersMissTogetherNothingIsDone) {
  PoolWorld world;
  world.Apply({world.Group("g", {world.Service(1)}, 3)});
  world.workers.behaviour.deaf = {"worker/g/0/1", "worker/g/1/1", "worker/g/2/1"};
  world.Pass(absl::Minutes(2));
  EXPECT_THAT(world.States(), ElementsAre("g/0/1 ready", "g/1/1 ready", "g/2/1 ready"));
  EXPECT_TRUE(world.Told("overload", "together"));
  world.workers.behaviour.deaf.clear();
  world.Pass(absl::Minutes(1));
  EXPECT_THAT(world.States(), ElementsAre("g/0/1 ready", "g/1/1 ready", "g/2/1 ready"));
}

TEST(Worker, ProbesAreSpread) {
  PoolWorld world;
  world.Apply({world.Group("g", {world.Service(1)}, 20)});
  std::set<uint32_t> counts;
  for (int i = 0; i < 5; ++i) {
    world.Pass(absl::Milliseconds(900));
    counts.insert(world.workers.probes);
  }
  // Some in every part of the first interval, and not all in one.
  EXPECT_EQ(counts.size(), 5);
  EXPECT_GE(*counts.begin(), 1);
  EXPECT_LT(*counts.begin(), 15);
}

TEST(Worker, ProbesOfManyWorkersShareTheirMoments) {
  PoolWorld world;
  world.Apply({world.Group("g", {world.Service(1)}, 20)});
  world.Pass(absl::Seconds(10));
  const uint32_t before = world.workers.probes;
  int moments = 0;
  for (int i = 0; i < 200; ++i) {
    const uint32_t last = world.workers.probes;
    world.Pass(absl::Milliseconds(50));
    moments += world.workers.probes > last ? 1 : 0;
  }
  // Ten in each interval of 5 s, at most.
  EXPECT_LE(moments, 21);
  EXPECT_GE(moments, 5);
  EXPECT_GE(world.workers.probes - before, 20u * 2);
}

TEST(Worker, ACutChannelIsMadeAnewAndNoMiss) {
  PoolWorld world;
  world.Apply({world.Group("g", {world.Service(1)})});
  const uint32_t connects = world.workers.connects;
  const SteadyTime before = world.time.Steady();
  world.workers.CutChannels();
  world.Pass(absl::Seconds(1));
  EXPECT_LT(world.time.Steady() - before, absl::Seconds(2));
  EXPECT_EQ(world.workers.connects, connects + 1);
  world.Apply({world.Group("g", {world.Service(1), world.Service(2)})});
  EXPECT_THAT(world.worker("g/0/1").services(), ElementsAre(1, 2));
  world.Pass(absl::Minutes(1));
  EXPECT_THAT(world.States(), ElementsAre("g/0/1 ready"));
}

TEST(Worker, AChannelCutWhileAServiceLoadsIsNoFailureOfTheService) {
  PoolWorld world;
  world.workers.behaviour.hanging.insert("s1");
  world.Apply({world.Group("g", {world.Service(1)})});
  world.workers.behaviour.hanging.clear();
  world.workers.CutChannels();
  world.Pass(absl::Seconds(1));
  EXPECT_THAT(world.States(), ElementsAre("g/0/1 ready"));
  EXPECT_EQ(world.ServiceOf(1).status, ServiceStatus::kReady);
}

TEST(Worker, AServiceThatHangsWhileLoadingCostsTheOthersOneRestart) {
  PoolWorld world;
  world.workers.behaviour.hanging.insert("s1");
  world.Apply({world.Group("g", {world.Service(1), world.Service(2)})});
  world.Pass(absl::Seconds(70));
  EXPECT_THAT(world.States(), ElementsAre("g/0/2 ready"));
  EXPECT_EQ(world.ServiceOf(1).status, ServiceStatus::kFailed);
  EXPECT_EQ(world.ServiceOf(1).reason, "did not finish loading");
  EXPECT_EQ(world.ServiceOf(2).status, ServiceStatus::kReady);
}

TEST(Worker, AnAssignmentThatIsNotAnsweredInTimeBlamesItsService) {
  PoolWorld world;
  world.workers.behaviour.expired.insert("s1");
  world.Apply({world.Group("g", {world.Service(1), world.Service(2)})});
  EXPECT_THAT(world.States(), ElementsAre("g/0/2 ready"));
  EXPECT_EQ(world.ServiceOf(1).reason, "did not finish loading");
  EXPECT_EQ(world.ServiceOf(2).status, ServiceStatus::kReady);
}

TEST(Worker, ABrokenLinkMessageEndsTheWorker) {
  PoolWorld world;
  world.Apply({world.Group("g", {world.Service(1)})});
  world.worker("g/0/1").SendRaw("no link message");
  world.Settle();
  EXPECT_THAT(world.States(), ElementsAre("g/0/2 ready"));
}

TEST(Worker, ARowThatIsNotTheServicesEndsTheWorker) {
  PoolWorld world;
  world.workers.behaviour.refused_rows.insert("s1");
  world.Apply({world.Group("g", {world.Service(1)})});
  EXPECT_THAT(world.States(), ElementsAre("g/0/0 backoff"));
  EXPECT_TRUE(world.Told("worker_exit", "signal 9"));
}

TEST(Worker, CountersThatFellMakeItUnhealthyAndAreNotShown) {
  PoolWorld world;
  world.Apply({world.Group("g", {world.Service(1)})});
  world.worker("g/0/1").Count(1, 100);
  EXPECT_EQ(world.Requests(1), 100);
  for (ServiceCounters& stripe : world.worker("g/0/1").segment().rows[0].stripes) {
    stripe.finished = 0;
  }
  EXPECT_EQ(world.Requests(1), 100);
  world.Pass(absl::Seconds(6));
  EXPECT_THAT(world.States(), ElementsAre("g/0/2 ready"));
  EXPECT_EQ(world.Requests(1), 100);
}

TEST(Worker, AServicesOwnStateIsSeenAtOnce) {
  PoolWorld world;
  world.Apply({world.Group("g", {world.Service(1)})});
  world.worker("g/0/1").SendServiceState(1, RowState::kFailed);
  world.Settle();
  EXPECT_EQ(world.ServiceOf(1).status, ServiceStatus::kFailed);
  EXPECT_THAT(world.States(), ElementsAre("g/0/1 ready"));
}

TEST(Worker, OneThatDoesNotStopIsKilledAtTheStopTimeout) {
  PoolWorld world;
  world.Apply({world.Group("g", {world.Service(1)})});
  world.workers.behaviour.ignores_stop = true;
  world.Apply({});
  EXPECT_THAT(world.States(), ElementsAre("g/0/1 stopping"));
  world.Pass(absl::Seconds(9));
  EXPECT_THAT(world.States(), ElementsAre("g/0/1 stopping"));
  world.Pass(absl::Seconds(1));
  EXPECT_THAT(world.workers.Names(), ::testing::IsEmpty());
}

TEST(Worker, OneThatCannotBeKilledIsAnAlarmUntilItGoes) {
  PoolWorld world;
  auto alone = world.Service(1);
  alone->instances = Instances::kOne;
  alone->overlap = false;
  world.Apply({world.Group("g", {alone})});
  world.workers.behaviour.ignores_stop = true;
  world.workers.launcher().FailKills(absl::DeadlineExceededError("still there after 5s"));
  auto changed = world.Service(1, 2);
  changed->instances = Instances::kOne;
  changed->overlap = false;
  world.Apply({world.Group("g", {changed})});
  world.Pass(absl::Minutes(3));
  // No second copy beside it.
  EXPECT_THAT(world.States(), ElementsAre("g/0/1 stopping"));
  ASSERT_FALSE(world.Snapshot().remarks.empty());
  EXPECT_THAT(world.Snapshot().remarks[0], ::testing::HasSubstr("cannot be stopped"));
  world.workers.launcher().FailKills(absl::OkStatus());
  world.workers.Crash("worker/g/0/1", SIGKILL);
  world.Settle();
  EXPECT_THAT(world.States(), ElementsAre("g/0/2 ready"));
  EXPECT_TRUE(world.Told("worker_remark", "could be stopped at last"));
  EXPECT_TRUE(world.Snapshot().remarks.empty());
}

TEST(Worker, DrainsAreBounded) {
  PoolWorld world;
  world.workers.behaviour.never_drained = true;
  for (uint64_t revision = 1; revision <= 6; ++revision) {
    world.Apply({world.Group("g", {world.Service(1, revision)})});
    EXPECT_LE(world.States().size(), 1 + Slot::kMaxRetired);
  }
  world.Pass(absl::Seconds(33));
  EXPECT_THAT(world.States(), ElementsAre("g/0/6 ready"));
}

TEST(Worker, AProgramThatCannotBeStartedIsTriedAgainLater) {
  PoolWorld world;
  world.workers.launcher().FailLaunches(absl::NotFoundError("exec '/x': No such file"));
  world.Apply({world.Group("g", {world.Service(1)})});
  EXPECT_THAT(world.States(), ElementsAre("g/0/0 backoff"));
  EXPECT_EQ(world.holder.entries().size(), 1);
  world.workers.launcher().FailLaunches(absl::OkStatus());
  world.Pass(absl::Seconds(30));
  EXPECT_EQ(world.ServiceOf(1).status, ServiceStatus::kReady);
}

TEST(Worker, NothingIsSpawnedThatTheKeeperDoesNotHold) {
  PoolWorld world;
  world.holder.FailHolds(absl::ResourceExhaustedError("no more entries"));
  world.Apply({world.Group("g", {world.Service(1)})});
  EXPECT_TRUE(world.workers.launcher().launched().empty());
  world.holder.FailHolds(absl::OkStatus());
  world.Pass(absl::Seconds(30));
  EXPECT_EQ(world.ServiceOf(1).status, ServiceStatus::kReady);
}

TEST(Worker, AStopInTheMiddleOfAStartLeavesNothing) {
  for (int steps = 0; steps < 30; ++steps) {
    SCOPED_TRACE(steps);
    PoolWorld world;
    world.pool().Apply(PoolTarget{{world.Group("g", {world.Service(1)})}});
    for (int i = 0; i < steps; ++i) world.Step();
    world.Apply({});
    world.Pass(absl::Minutes(1));
    EXPECT_THAT(world.workers.Names(), ::testing::IsEmpty());
    EXPECT_THAT(world.States(), ::testing::IsEmpty());
    EXPECT_EQ(world.holder.entries().size(), 1);
  }
}

TEST(Worker, ALargeLogIsRotatedUnderTheWorker) {
  PoolWorld world;
  GroupTarget group = world.Group("g", {world.Service(1)});
  group.policy.log_size = KiB(1);
  world.Apply({group});
  const std::string path = world.settings.log_folder + "/g-0.log";
  std::ofstream(path, std::ios::app) << std::string(2000, 'x');
  world.Pass(absl::Seconds(2));
  EXPECT_EQ(world.worker("g/0/1").log_files(), 1);
  EXPECT_TRUE(std::ifstream(path + ".1").good());
  EXPECT_EQ(world.Snapshot().workers[0].log_file, path);
}

}  // namespace
}  // namespace cohost::supervisor
