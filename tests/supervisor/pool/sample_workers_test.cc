// SPDX-License-Identifier: Apache-2.0
#include "supervisor/pool/sample_workers.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/supervisor/pool/group_world.h"

namespace cohost::supervisor {
namespace {

class SampleWorkersTest : public ::testing::Test {
 protected:
  SampleWorkersTest() {
    world_.on_exit = [this](const GenerationId&, const ExitRecord& record) {
      handled_ = samples_.HandleExit(record);
    };
  }

  // Services 1 to `count` in two groups.
  PoolTarget Deployment(uint64_t count) {
    PoolTarget target;
    target.groups = {GroupWorld::Group({}), GroupWorld::Group({}, 3)};
    target.groups[1].name = "h";
    target.groups[1].identity.uid = 77;
    for (uint64_t id = 1; id <= count; ++id) {
      target.groups[id % 2].services.push_back(world_.Service(id));
    }
    return target;
  }
  GroupTarget Target() { return SampleTargets(Deployment(1), 1).front(); }

  void Start() {
    started_.reset();
    samples_.Start(Target(), [this](absl::StatusOr<pid_t> outcome) { started_ = outcome; });
    world_.Settle();
  }
  void End() {
    bool ended = false;
    samples_.End([&ended] { ended = true; });
    world_.Settle();
    EXPECT_TRUE(ended);
  }
  FakeWorker* Worker(uint32_t generation) {
    return world_.workers.Find(absl::StrCat("worker/~sample/0/", generation));
  }

  GroupWorld world_;
  SampleWorkers samples_{world_.parts, 100};
  std::optional<absl::StatusOr<pid_t>> started_;
  bool handled_ = false;
};

TEST_F(SampleWorkersTest, TargetsAreSpreadOverAllServicesByName) {
  const std::vector<GroupTarget> targets = SampleTargets(Deployment(9), 3);
  ASSERT_EQ(targets.size(), 3u);
  std::set<uint64_t> ids;
  std::string names;
  for (const GroupTarget& target : targets) {
    EXPECT_EQ(target.name, kSampleGroup);
    EXPECT_EQ(target.policy.workers, 1u);
    ASSERT_EQ(target.services.size(), 1u);
    const ServiceTarget& service = *target.services[0];
    EXPECT_TRUE(service.listeners.empty()) << "it must never get a connection";
    EXPECT_GT(service.id, 1'000'000u) << "no real service's number";
    EXPECT_EQ(service.revision, 1u);
    ids.insert(service.id);
    names += service.name;
  }
  EXPECT_EQ(names, "s2s5s8");
  EXPECT_EQ(ids.size(), 3u);
  EXPECT_EQ(targets[0].identity.uid, std::nullopt);
  EXPECT_EQ(targets[1].identity.uid, 77u) << "that of its own group";
  EXPECT_EQ(SampleTargets(Deployment(2), 16).size(), 2u);
  EXPECT_TRUE(SampleTargets({}, 4).empty());
}

TEST_F(SampleWorkersTest, AServiceThatMayNotRunTwiceIsNeverSampled) {
  PoolTarget target = Deployment(1);
  auto alone = world_.Service(2);
  alone->overlap = false;
  target.groups[0].services = {alone};
  const std::vector<GroupTarget> targets = SampleTargets(target, 16);
  ASSERT_EQ(targets.size(), 1u);
  EXPECT_EQ(targets[0].services[0]->name, "s1");
}

TEST_F(SampleWorkersTest, AWorkerWithoutListenersIsStartedAndNothingOfItIsLeft) {
  Start();
  ASSERT_TRUE(started_.has_value());
  ASSERT_TRUE(started_->ok()) << started_->status();
  FakeWorker* worker = Worker(101);
  ASSERT_NE(worker, nullptr);
  EXPECT_GT(**started_, 0);
  EXPECT_EQ(worker->services().size(), 1u);
  EXPECT_TRUE(worker->tokens().empty());
  const std::string log = world_.parts.settings.log_folder + "/~sample-0.log";
  EXPECT_EQ(access(log.c_str(), F_OK), 0);
  End();
  EXPECT_TRUE(handled_);
  EXPECT_TRUE(world_.workers.Names().empty());
  EXPECT_TRUE(world_.holder.CopyAll().empty());
  EXPECT_NE(access(log.c_str(), F_OK), 0);
  EXPECT_TRUE(world_.folded.empty()) << "no total is touched";
}

TEST_F(SampleWorkersTest, TheNextOneHasANameOfItsOwn) {
  Start();
  End();
  Start();
  ASSERT_TRUE(started_->ok());
  EXPECT_EQ(Worker(101), nullptr);
  EXPECT_NE(Worker(102), nullptr);
  End();
}

TEST_F(SampleWorkersTest, OnlyOneAtATime) {
  Start();
  std::optional<absl::StatusOr<pid_t>> second;
  samples_.Start(Target(), [&second](absl::StatusOr<pid_t> outcome) { second = outcome; });
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(second->status().code(), absl::StatusCode::kFailedPrecondition);
  End();
}

TEST_F(SampleWorkersTest, AServiceThatCannotStartSaysWhy) {
  world_.workers.behaviour.failing["s1"] = "no database";
  Start();
  ASSERT_TRUE(started_.has_value());
  EXPECT_EQ(started_->status().code(), absl::StatusCode::kAborted);
  EXPECT_NE(started_->status().message().find("no database"), std::string::npos);
  End();
  EXPECT_TRUE(world_.workers.Names().empty());
}

TEST_F(SampleWorkersTest, AServiceThatKillsItsWorkerIsNotTriedForEver) {
  world_.workers.behaviour.deadly = {"s1"};
  Start();
  world_.Pass(absl::Minutes(5));
  ASSERT_TRUE(started_.has_value());
  EXPECT_EQ(started_->status().code(), absl::StatusCode::kAborted);
  End();
  world_.Pass(absl::Minutes(5));
  EXPECT_TRUE(world_.workers.Names().empty());
  EXPECT_TRUE(world_.holder.CopyAll().empty());
}

TEST_F(SampleWorkersTest, AServiceThatNeverGetsReadyIsGivenUpInTime) {
  world_.workers.behaviour.hanging = {"s1"};
  Start();
  EXPECT_FALSE(started_.has_value());
  world_.Pass(GroupPolicy().start_timeout + SampleWorkers::kStartMargin);
  ASSERT_TRUE(started_.has_value());
  EXPECT_FALSE(started_->ok());
  End();
  world_.Pass(absl::Minutes(5));
  EXPECT_TRUE(world_.workers.Names().empty());
}

TEST_F(SampleWorkersTest, EndWhileItStartsAnswersAndLeavesNothing) {
  world_.workers.behaviour.hanging = {"s1"};
  Start();
  bool ended = false;
  samples_.End([&ended] { ended = true; });
  world_.Pass(absl::Minutes(2));
  EXPECT_TRUE(ended);
  ASSERT_TRUE(started_.has_value());
  EXPECT_EQ(started_->status().code(), absl::StatusCode::kCancelled);
  EXPECT_TRUE(world_.workers.Names().empty());
  End();
}

TEST_F(SampleWorkersTest, AnotherWorkersEndIsNotItsOwn) {
  Start();
  ExitRecord record;
  record.name = "worker/g/0/101";
  EXPECT_FALSE(samples_.HandleExit(record));
  record.name = "worker/~sample/0/7";
  EXPECT_FALSE(samples_.HandleExit(record)) << "one of the supervisor before is the pool's";
  End();
}

}  // namespace
}  // namespace cohost::supervisor
