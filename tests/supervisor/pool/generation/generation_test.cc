// SPDX-License-Identifier: Apache-2.0
#include "supervisor/pool/generation/generation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/system/unique_fd.h"
#include "boost/asio/io_context.hpp"
#include "supervisor/pool/generation/sealed_memory.h"
#include "tests/fakes/descriptor_holder.h"
#include "tests/fakes/manual_time.h"
#include "tests/fakes/workers.h"
#include "tests/support/temporary_folder.h"

namespace cohost::supervisor {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// What a generation tells, in the words of the tests.
class Told final : public Generation::Observer {
 public:
  void OnSpawnFailed(const absl::Status& why) override { spawn_failures.push_back(why); }
  void OnReported(bool draining) override { reports.push_back(draining); }
  void OnGenerationDrained() override { ++drained; }
  void OnProbe(bool answered) override { probes.push_back(answered); }
  void OnKillFailed(const absl::Status& why) override { kill_failures.push_back(why); }
  void OnServiceChanged(uint64_t, const HostedService&, ServiceStatus) override {}
  void OnProgress() override {}
  void OnIntakeStopped() override { ++intake_stops; }
  void OnFault(const absl::Status& why) override { faults.push_back(why); }
  void OnRemark(const std::string& text) override { remarks.push_back(text); }

  std::vector<absl::Status> spawn_failures;
  std::vector<bool> reports;
  std::vector<bool> probes;
  std::vector<absl::Status> kill_failures;
  std::vector<absl::Status> faults;
  std::vector<std::string> remarks;
  int drained = 0;
  int intake_stops = 0;
};

class GenerationTest : public ::testing::Test, public PoolObserver {
 protected:
  GenerationTest() {
    parts_.settings.worker_program = "/usr/libexec/cohost-worker";
    parts_.settings.binary_id = "build-1";
    group_.name = "g";
    workers_.OnExit([](const ExitRecord&) {});
  }

  std::unique_ptr<Generation> Make(uint32_t number = 1) {
    return std::make_unique<Generation>(parts_, told_, GenerationId{"g", 0, number});
  }
  void Spawn() {
    generation_ = Make();
    generation_->Spawn(group_, GenerationRecord{}, -1);
  }
  // Spawned, reported and with one ready service.
  void Serve() {
    Spawn();
    auto service = std::make_shared<ServiceTarget>();
    service->id = 1;
    service->revision = 1;
    service->name = "s1";
    service->listeners.push_back({"http://127.0.0.1:8001", listener_.get()});
    generation_->roster().SetServices({service}, group_.policy);
    Settle();
    ASSERT_TRUE(generation_->roster().settled());
  }
  HeldEntry Held() {
    std::vector<HeldEntry> entries = holder_.CopyAll();
    EXPECT_THAT(entries, SizeIs(1));
    return std::move(entries.front());
  }
  FakeWorker& worker() { return *workers_.Find("worker/g/0/1"); }

  bool Step() {
    bool happened = loop_.poll() > 0;
    loop_.restart();
    holder_.RunCallbacks();
    happened |= workers_.Run();
    happened |= time_.RunDue();
    return happened;
  }
  void Settle() {
    for (int round = 0, quiet = 0; quiet < 3; ++round) {
      quiet = Step() ? 0 : quiet + 1;
      if (round == 20'000) return ADD_FAILURE() << "it never comes to rest";
    }
  }
  void Pass(absl::Duration duration) {
    const SteadyTime end = time_.Steady() + duration;
    Settle();
    while (time_.Steady() < end) {
      time_.Pass(std::min(end - time_.Steady(), time_.UntilNext()));
      Settle();
    }
  }

  // PoolObserver
  void OnPoolEvent(const PoolEvent&) override {}
  void OnPoolChanged() override {}

  boost::asio::io_context loop_;
  ManualTime time_;
  FakeWorkers workers_;
  FakeDescriptorHolder holder_;
  PoolParts parts_{loop_, time_, time_, workers_, holder_, workers_, *this, {}};
  GroupTarget group_;
  UniqueFd listener_{socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  Told told_;
  std::unique_ptr<Generation> generation_;
};

TEST_F(GenerationTest, HasAFolderOfItsOwnWhenItsRuntimeTakesDiagnostics) {
  const cohost::testing::TemporaryFolder folders;
  parts_.settings.worker_folders = folders.path();
  Spawn();
  Settle();
  EXPECT_EQ(generation_->folder(), "") << "nobody asked";
  group_.diagnostics = true;
  generation_ = Make(2);
  generation_->Spawn(group_, GenerationRecord{}, -1);
  Settle();
  const std::string folder = generation_->folder();
  EXPECT_TRUE(std::filesystem::is_directory(folder));
  EXPECT_THAT(workers_.launcher().launched()[1].environment,
              Contains("COHOST_DIAGNOSTICS_FOLDER=" + folder));
  generation_->RemoveFolder();
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST_F(GenerationTest, ServesWithoutAFolderThatCannotBeMade) {
  parts_.settings.worker_folders = "/" + std::string(100, 'w');
  group_.diagnostics = true;
  Spawn();
  Settle();
  EXPECT_TRUE(generation_->reported());
  EXPECT_THAT(told_.remarks, Contains(HasSubstr("no diagnostics of .NET")));
  EXPECT_THAT(workers_.launcher().launched()[0].environment,
              Contains("DOTNET_EnableDiagnostics=0"));
}

TEST_F(GenerationTest, IsHeldBeforeItIsLaunched) {
  Spawn();
  EXPECT_TRUE(holder_.entries().contains("link/g/0/1"));
  EXPECT_THAT(workers_.launcher().launched(), IsEmpty());
  holder_.RunCallbacks();
  ASSERT_THAT(workers_.launcher().launched(), SizeIs(1));
  EXPECT_EQ(workers_.launcher().launched()[0].name, "worker/g/0/1");
  EXPECT_FALSE(generation_->reported());
  Settle();
  EXPECT_THAT(told_.reports, ElementsAre(false));
  EXPECT_TRUE(generation_->reported());
  EXPECT_EQ(generation_->binary_id(), "build-1");
  EXPECT_GT(generation_->pid(), 0);
}

TEST_F(GenerationTest, AKeeperThatCannotHoldItMeansNoProcess) {
  holder_.FailHolds(absl::ResourceExhaustedError("no more entries"));
  Spawn();
  EXPECT_THAT(told_.spawn_failures, IsEmpty());
  Settle();
  ASSERT_THAT(told_.spawn_failures, SizeIs(1));
  EXPECT_TRUE(absl::IsResourceExhausted(told_.spawn_failures[0]));
  EXPECT_THAT(workers_.launcher().launched(), IsEmpty());
}

TEST_F(GenerationTest, ALogThatIsNoFileFailsLaterNeverAtOnce) {
  generation_ = Make();
  generation_->Spawn(group_, GenerationRecord{}, 1'000'000);
  EXPECT_THAT(told_.spawn_failures, IsEmpty());
  // It can be told anything meanwhile.
  generation_->Drain(absl::Seconds(1));
  generation_->SetLogFile(2);
  generation_->Rearm();
  generation_->Probe(absl::Seconds(1));
  EXPECT_FALSE(generation_->Stop());
  Settle();
  EXPECT_THAT(told_.spawn_failures, SizeIs(1));
  EXPECT_THAT(holder_.entries(), IsEmpty());
  EXPECT_THAT(workers_.launcher().launched(), IsEmpty());
}

TEST_F(GenerationTest, ALaunchThatFailsIsToldOnce) {
  workers_.launcher().FailLaunches(absl::NotFoundError("exec '/x': No such file"));
  Spawn();
  Settle();
  ASSERT_THAT(told_.spawn_failures, SizeIs(1));
  EXPECT_TRUE(absl::IsNotFound(told_.spawn_failures[0]));
  EXPECT_THAT(told_.reports, IsEmpty());
}

TEST_F(GenerationTest, AnswersThatComeAfterItsEndReachNobody) {
  for (int steps = 0; steps < 8; ++steps) {
    SCOPED_TRACE(steps);
    Spawn();
    generation_->Kill();
    for (int i = 0; i < steps; ++i) Step();
    generation_.reset();
    const auto probes = told_.probes.size();
    Settle();
    EXPECT_EQ(told_.probes.size(), probes);
    workers_.Exit("worker/g/0/1", 0);
    Settle();
  }
}

TEST_F(GenerationTest, WhoEndsBeforeItIsHeldIsNotLaunched) {
  Spawn();
  generation_.reset();
  Settle();
  EXPECT_THAT(workers_.launcher().launched(), IsEmpty());
  EXPECT_THAT(told_.spawn_failures, IsEmpty());
}

TEST_F(GenerationTest, AnAdoptedOneFindsItsServicesAndCounters) {
  Serve();
  worker().Count(1, 9);
  generation_ = Make();
  ASSERT_TRUE(generation_->Adopt(Held(), 77).ok());
  EXPECT_FALSE(generation_->reported());
  Settle();
  EXPECT_TRUE(generation_->reported());
  EXPECT_EQ(generation_->pid(), 77);
  EXPECT_EQ(generation_->roster().services().at(1).status, ServiceStatus::kReady);
  EXPECT_EQ(generation_->segment()->Totals(1).finished, 9);
}

TEST_F(GenerationTest, AnEntryThatSpawnHasNotMadeIsRefused) {
  Serve();
  const auto refused = [this](const std::function<void(HeldEntry&)>& spoil) {
    HeldEntry entry = Held();
    spoil(entry);
    return Make(2)->Adopt(std::move(entry), 77);
  };
  EXPECT_FALSE(refused([](HeldEntry& entry) { entry.descriptors.pop_back(); }).ok());
  EXPECT_FALSE(refused([](HeldEntry& entry) { entry.descriptors.clear(); }).ok());
  EXPECT_FALSE(refused([](HeldEntry& entry) { entry.descriptors.emplace_back(); }).ok());
  EXPECT_FALSE(refused([](HeldEntry& entry) { entry.blob = "version 9\n"; }).ok());
  EXPECT_FALSE(refused([](HeldEntry& entry) {
                 std::swap(entry.descriptors[0], entry.descriptors[1]);
               }).ok());
  // Sealed, and no segment.
  EXPECT_FALSE(refused([](HeldEntry& entry) {
                 entry.descriptors[1] = *MakeSealedMemory("test", 4096);
               }).ok());
  EXPECT_TRUE(refused([](HeldEntry&) {}).ok());
}

TEST_F(GenerationTest, AWorkerThatDrainsAlreadyIsGivenNothing) {
  Serve();
  workers_.behaviour.never_drained = true;
  generation_->Drain(absl::Minutes(1));
  Settle();
  generation_ = Make();
  told_.reports.clear();
  ASSERT_TRUE(generation_->Adopt(Held(), 77).ok());
  generation_->roster().SetServices({}, group_.policy);
  Settle();
  EXPECT_THAT(told_.reports, ElementsAre(true));
  EXPECT_THAT(worker().services(), ElementsAre(1));
}

TEST_F(GenerationTest, ADrainTellsThatItsIntakeHasStoppedAndThenItsEnd) {
  Serve();
  workers_.behaviour.never_drained = true;
  generation_->Drain(absl::Minutes(1));
  EXPECT_EQ(told_.intake_stops, 0);
  Settle();
  EXPECT_EQ(told_.intake_stops, 1);
  EXPECT_EQ(told_.drained, 0);
  worker().SendDrained();
  Settle();
  EXPECT_EQ(told_.drained, 1);
}

TEST_F(GenerationTest, ChannelsThatDoNotWorkAreAFaultOnlyAfterSeveral) {
  Serve();
  const uint32_t connects = workers_.connects;
  for (uint32_t i = 1; i <= Generation::kMaxChannels; ++i) {
    workers_.CutChannels();
    Pass(absl::Seconds(2));
    EXPECT_THAT(told_.faults, IsEmpty()) << i;
    EXPECT_EQ(workers_.connects, connects + i);
  }
  workers_.CutChannels();
  Pass(absl::Seconds(2));
  ASSERT_THAT(told_.faults, SizeIs(1));
  EXPECT_TRUE(absl::IsUnavailable(told_.faults[0]));
  EXPECT_EQ(workers_.connects, connects + Generation::kMaxChannels);
}

TEST_F(GenerationTest, AnAnswerBetweenThemForgivesTheChannelsBefore) {
  Serve();
  for (uint32_t i = 0; i < 3 * Generation::kMaxChannels; ++i) {
    workers_.CutChannels();
    Pass(absl::Seconds(2));
    generation_->Probe(absl::Seconds(1));
    Settle();
  }
  EXPECT_THAT(told_.faults, IsEmpty());
  EXPECT_EQ(told_.probes.size(), 3 * Generation::kMaxChannels);
}

TEST_F(GenerationTest, AProbeThatCouldNotBeMadeIsNoMissedOne) {
  Serve();
  workers_.behaviour.deaf.insert("worker/g/0/1");
  generation_->Probe(absl::Seconds(1));
  Settle();
  EXPECT_THAT(told_.probes, ElementsAre(false));
  workers_.behaviour.deaf.clear();
  generation_->Probe(absl::Seconds(1));
  workers_.CutChannels();
  Settle();
  // And while there is no channel.
  generation_->Probe(absl::Seconds(1));
  Settle();
  EXPECT_THAT(told_.probes, ElementsAre(false));
  EXPECT_THAT(told_.faults, IsEmpty());
}

TEST_F(GenerationTest, ALostLinkIsAFaultAndCannotStopIt) {
  Serve();
  EXPECT_TRUE(generation_->Stop());
  workers_.behaviour.ignores_stop = true;
  worker().SendRaw("no link message");
  Settle();
  ASSERT_THAT(told_.faults, SizeIs(1));
  EXPECT_TRUE(absl::IsInvalidArgument(told_.faults[0]));
  EXPECT_FALSE(generation_->Stop());
  EXPECT_EQ(generation_->channel(), nullptr);
  // Nothing is made anew for a worker that nobody can speak to.
  const uint32_t connects = workers_.connects;
  workers_.CutChannels();
  Pass(absl::Seconds(5));
  EXPECT_EQ(workers_.connects, connects);
}

TEST_F(GenerationTest, AKillThatFailsIsTold) {
  Serve();
  workers_.launcher().FailKills(absl::DeadlineExceededError("still there after 5s"));
  generation_->Kill();
  Settle();
  ASSERT_THAT(told_.kill_failures, SizeIs(1));
  EXPECT_TRUE(absl::IsDeadlineExceeded(told_.kill_failures[0]));
}

TEST_F(GenerationTest, SuspectsAreWhatWasAskedForOrElseWhatTheSegmentSays) {
  Serve();
  EXPECT_THAT(generation_->Suspects(), IsEmpty());
  // Another supervisor had asked for it; this one knows it by the segment only.
  worker().segment().rows[0].state = static_cast<uint32_t>(RowState::kLoading);
  EXPECT_THAT(generation_->Suspects(), ElementsAre(1));
  workers_.behaviour.hanging.insert("s2");
  auto service = std::make_shared<ServiceTarget>();
  service->id = 2;
  service->revision = 1;
  service->name = "s2";
  service->listeners.push_back({"http://127.0.0.1:8001", listener_.get()});
  generation_->roster().SetServices({service}, group_.policy);
  Settle();
  EXPECT_THAT(generation_->Suspects(), ElementsAre(2));
}

TEST_F(GenerationTest, ARowOfAnotherServiceIsAFault) {
  Serve();
  EXPECT_TRUE(generation_->TakeRow(1, 0));
  EXPECT_TRUE(generation_->TakeRow(2, kNoRow));
  EXPECT_THAT(told_.faults, IsEmpty());
  EXPECT_FALSE(generation_->TakeRow(2, 0));
  EXPECT_FALSE(generation_->TakeRow(2, kServiceRows));
  EXPECT_THAT(told_.faults, SizeIs(2));
}

TEST_F(GenerationTest, ALogFileIsSentBeforeItHasReported) {
  Spawn();
  generation_->SetLogFile(STDERR_FILENO);
  Settle();
  EXPECT_EQ(worker().log_files(), 1);
  EXPECT_THAT(told_.faults, IsEmpty());
}

}  // namespace
}  // namespace cohost::supervisor
