// SPDX-License-Identifier: Apache-2.0
#include "supervisor/snapshot_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/supervisor/deployer/deployer_world.h"

namespace cohost::supervisor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

WorkerView MakeWorker(const std::string& group, uint32_t slot, uint32_t generation, pid_t pid) {
  WorkerView worker;
  worker.group = group;
  worker.slot = slot;
  worker.generation = generation;
  worker.pid = pid;
  return worker;
}

ProcessSample MakeSample(const std::string& name, uint64_t pss, absl::Duration cpu) {
  ProcessSample sample;
  sample.name = name;
  sample.memory.emplace();
  sample.memory->pss = Bytes{pss};
  sample.memory->private_bytes = Bytes{pss / 2};
  sample.memory->anonymous = Bytes{pss / 4};
  sample.cpu.emplace();
  sample.cpu->user_time = cpu;
  sample.cpu->system_time = cpu;
  sample.cpu->threads = 5;
  return sample;
}

// A host of one worker, with pids.
HostSnapshot OneWorker() {
  HostSnapshot snapshot;
  snapshot.keeper_pid = 10;
  snapshot.supervisor_pid = 11;
  snapshot.workers = {MakeWorker("steady-1", 0, 3, 12)};
  return snapshot;
}

TEST(ProcessFigures, GoToTheProcessThatWasMeasured) {
  ProcessFigures figures;
  HostSnapshot snapshot = OneWorker();
  std::vector<ProcessSample> samples;
  for (const SampledProcess& process : ProcessFigures::Processes(snapshot)) {
    samples.push_back(MakeSample(process.name, 1000 * static_cast<uint64_t>(process.pid),
                                 absl::Seconds(process.pid)));
  }
  ASSERT_THAT(samples, SizeIs(3));
  figures.Update(std::move(samples));
  figures.Fill(snapshot);
  EXPECT_EQ(snapshot.keeper_memory.pss.count, 10'000);
  EXPECT_EQ(snapshot.keeper_cpu, absl::Seconds(20));
  EXPECT_EQ(snapshot.supervisor_memory.private_bytes.count, 5'500);
  EXPECT_EQ(snapshot.supervisor_cpu, absl::Seconds(22));
  EXPECT_EQ(snapshot.workers[0].memory.anonymous.count, 3'000);
  EXPECT_EQ(snapshot.workers[0].cpu, absl::Seconds(24));
  EXPECT_EQ(snapshot.workers[0].threads, 5);
}

TEST(ProcessFigures, AreNotGivenToAnotherGenerationOfTheSlot) {
  ProcessFigures figures;
  HostSnapshot snapshot = OneWorker();
  figures.Update(
      {MakeSample(ProcessFigures::WorkerName(snapshot.workers[0]), 1000, absl::Seconds(1))});
  snapshot.workers = {MakeWorker("steady-1", 0, 4, 12), MakeWorker("steady-1", 1, 3, 13)};
  figures.Fill(snapshot);
  for (const WorkerView& worker : snapshot.workers) {
    EXPECT_EQ(worker.memory.pss.count, 0);
    EXPECT_EQ(worker.cpu, absl::ZeroDuration());
  }
}

TEST(ProcessFigures, OfProcessesThatAreGoneAreForgotten) {
  ProcessFigures figures;
  HostSnapshot snapshot = OneWorker();
  const std::string name = ProcessFigures::WorkerName(snapshot.workers[0]);
  figures.Update({MakeSample(name, 1000, absl::Seconds(1))});
  ProcessSample ended;
  ended.name = name;
  figures.Update({ended});
  figures.Fill(snapshot);
  EXPECT_EQ(snapshot.workers[0].memory.pss.count, 0);
  EXPECT_EQ(snapshot.workers[0].threads, 0);
}

TEST(ProcessFigures, OneHalfOfASampleIsBetterThanNone) {
  ProcessFigures figures;
  HostSnapshot snapshot = OneWorker();
  // Memory of another user's process may not be read.
  ProcessSample sample = MakeSample(ProcessFigures::kKeeper, 1000, absl::Seconds(1));
  sample.memory.reset();
  figures.Update({sample});
  figures.Fill(snapshot);
  EXPECT_EQ(snapshot.keeper_cpu, absl::Seconds(2));
  EXPECT_EQ(snapshot.keeper_memory.pss.count, 0);
}

TEST(ProcessFigures, AWorkerWithoutAProcessIsNotMeasured) {
  HostSnapshot snapshot = OneWorker();
  snapshot.workers.push_back(MakeWorker("steady-1", 1, 0, 0));
  EXPECT_THAT(ProcessFigures::Processes(snapshot), SizeIs(3));
}

class FillDeploymentTest : public ::testing::Test {
 protected:
  void Begin(const std::string& services) {
    world_.Write(services);
    ASSERT_THAT(world_.Start(), IsEmpty());
    ASSERT_TRUE(world_.Settled());
  }
  HostSnapshot Fill(const std::vector<ListedFile>& modules = {}) {
    HostSnapshot snapshot;
    FillDeployment(world_.deployer(), world_.listeners(), modules, snapshot);
    return snapshot;
  }

  DeployerWorld world_;
};

TEST_F(FillDeploymentTest, ServicesAreByNameWhateverTheirGroups) {
  Begin(world_.Service("c") + world_.Service("a", "  load: {class: batch}\n") +
        world_.Service("b", "  load: {class: latency}\n"));
  const HostSnapshot snapshot = Fill();
  std::vector<std::string> places;
  for (const ServiceView& service : snapshot.services) {
    places.push_back(absl::StrCat(service.name, " in ", service.group));
    EXPECT_EQ(service.id, world_.deployer().ids().ids.at(service.name));
    EXPECT_NE(service.revision, 0);
    EXPECT_THAT(service.module_hash, SizeIs(64));
    EXPECT_THAT(service.addresses, ElementsAre("http+unix:" + world_.Socket(service.name)));
  }
  EXPECT_THAT(places, ElementsAre("a in batch-1", "b in latency-1", "c in steady-1"));
  ASSERT_THAT(snapshot.groups, SizeIs(3));
  for (const GroupView& group : snapshot.groups) {
    ASSERT_THAT(group.services, SizeIs(1));
    EXPECT_FALSE(group.reason.empty());
    EXPECT_FALSE(group.service_reasons.at(group.services[0]).empty());
    EXPECT_FALSE(group.declared);
  }
  EXPECT_EQ(snapshot.revision, 1);
  EXPECT_EQ(snapshot.runtime_dir, world_.folder / "run");
}

TEST_F(FillDeploymentTest, AStoppedServiceIsShownWithItsReasonAndItsAddress) {
  Begin(world_.Service("a") + world_.Service("b"));
  ASSERT_TRUE(world_.Stop("a").ok());
  HostSnapshot snapshot = Fill();
  ASSERT_THAT(snapshot.services, SizeIs(2));
  EXPECT_TRUE(snapshot.services[0].stopped_by_operator);
  EXPECT_EQ(snapshot.services[0].status, ServiceStatus::kStopped);
  EXPECT_EQ(snapshot.services[0].backlog, 0);
  EXPECT_THAT(snapshot.services[0].addresses, ElementsAre(HasSubstr("run/a.sock")));
  EXPECT_FALSE(snapshot.services[1].stopped_by_operator);
  EXPECT_GT(snapshot.services[1].backlog, 0);
  // Also when the pool has said what it knows.
  ASSERT_TRUE(world_.Until([&] { return !world_.IsHosted("a"); }));
  world_.pool().FillSnapshot(snapshot);
  EXPECT_EQ(snapshot.services[0].status, ServiceStatus::kStopped);
  EXPECT_EQ(snapshot.services[0].reason, "stopped by an operator");
  EXPECT_EQ(snapshot.services[1].status, ServiceStatus::kReady);
}

TEST_F(FillDeploymentTest, ModulesAndImagesAreToldApart) {
  Begin(world_.Service("a"));
  ListedFile module;
  module.file = {"aa", "/store/aa.so", KiB(1), StoredKind::kModule, {}};
  module.source = "/src/a.so";
  module.services = {"a"};
  ListedFile image;
  image.file = {"bb", "/store/bb.img", KiB(2), StoredKind::kDataImage, {}};
  const HostSnapshot snapshot = Fill({module, image});
  ASSERT_THAT(snapshot.modules, SizeIs(2));
  EXPECT_EQ(snapshot.modules[0].hash, "aa");
  EXPECT_EQ(snapshot.modules[0].path, "/store/aa.so");
  EXPECT_EQ(snapshot.modules[0].source_path, "/src/a.so");
  EXPECT_THAT(snapshot.modules[0].services, ElementsAre("a"));
  EXPECT_EQ(snapshot.modules[0].kind, "module");
  EXPECT_EQ(snapshot.modules[1].kind, "data image");
  EXPECT_EQ(snapshot.modules[1].size, KiB(2));
}

}  // namespace
}  // namespace cohost::supervisor
