// SPDX-License-Identifier: Apache-2.0
#include "supervisor/memory_meter.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "base/system/file.h"
#include "tests/fakes/manual_time.h"
#include "tests/support/loop.h"
#include "tests/support/temporary_folder.h"

namespace cohost::supervisor {
namespace {

constexpr size_t kSize = 1 << 20;

// A file that this process maps, all of it read and its first page written.
class MappedModule {
 public:
  explicit MappedModule(const std::string& path) {
    std::ofstream(path) << std::string(kSize, 'x');
    const auto fd = OpenFile(path, O_RDONLY);
    EXPECT_TRUE(fd.ok()) << fd.status();
    page_ = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd->get(), 0);
    EXPECT_NE(page_, MAP_FAILED);
    uint64_t sum = 0;
    for (size_t at = 0; at < kSize; at += 4096) sum += static_cast<volatile char*>(page_)[at];
    EXPECT_EQ(sum, kSize / 4096 * 'x');
    std::memset(page_, 'y', 4096);
  }
  ~MappedModule() { munmap(page_, kSize); }

 private:
  void* page_ = MAP_FAILED;
};

// This process as the one worker of a host.
class MemoryMeterTest : public ::testing::Test {
 protected:
  MemoryMeterTest() {
    WorkerView worker;
    worker.group = "steady-1";
    worker.generation = 3;
    worker.pid = getpid();
    worker.services = {"a", "b"};
    processes_.workers.push_back(worker);
    processes_.keeper_pid = getpid();
    processes_.supervisor_pid = getpid();
    AddFile("aa", path_, {"a", "b"});
  }

  void AddFile(const std::string& hash, const std::string& path,
               std::vector<std::string> services) {
    ListedFile listed;
    listed.file.hash = hash;
    listed.file.path = path;
    listed.services = std::move(services);
    files_.push_back(std::move(listed));
  }

  // Waits for the answer.
  absl::Status Measure(MemoryDepth depth) {
    std::optional<absl::Status> measured;
    meter_.Measure(depth, [&measured](const absl::Status& status) { measured = status; });
    EXPECT_TRUE(testing::RunUntil(loop_, [&measured] { return measured.has_value(); }));
    return measured.value_or(absl::DeadlineExceededError("no answer"));
  }
  HostSnapshot Filled() const {
    HostSnapshot snapshot = processes_;
    meter_.Fill(snapshot);
    return snapshot;
  }

  testing::TemporaryFolder folder_;
  const std::string path_ = folder_ / "aa.so";
  const MappedModule module_{path_};
  ManualTime time_;
  boost::asio::io_context loop_;
  HostSnapshot processes_;
  std::vector<ListedFile> files_;
  int changes_ = 0;
  MemoryMeter meter_{MemoryMeterParts{loop_, time_, time_, [this] { return processes_; },
                                      [this]() -> const std::vector<ListedFile>& { return files_; },
                                      [this] { ++changes_; }, 7}};
};

TEST_F(MemoryMeterTest, TotalsAreOfEveryProcessAndNoModules) {
  ASSERT_TRUE(Measure(MemoryDepth::kProcesses).ok());
  const HostSnapshot snapshot = Filled();
  EXPECT_GT(snapshot.workers[0].memory.pss.count, kSize / 2);
  EXPECT_GT(snapshot.keeper_memory.pss.count, 0u);
  EXPECT_EQ(snapshot.module_memory, nullptr);
  EXPECT_EQ(changes_, 1);
}

TEST_F(MemoryMeterTest, AModuleIsFoundInItsWorkerAndDividedByItsServices) {
  processes_.keeper_pid = processes_.supervisor_pid = 1 << 30;  // nobody
  const absl::Status measured = Measure(MemoryDepth::kModules);
  ASSERT_TRUE(measured.ok()) << measured;
  const HostSnapshot snapshot = Filled();
  EXPECT_GT(snapshot.workers[0].memory.pss.count, 0u);
  ASSERT_NE(snapshot.module_memory, nullptr);
  const MemoryReport& report = *snapshot.module_memory;
  EXPECT_EQ(report.measured, time_.Wall());
  EXPECT_EQ(report.unmeasured, 2u);
  ASSERT_EQ(report.modules.size(), 1u);
  EXPECT_EQ(report.modules[0].hash, "aa");
  EXPECT_EQ(report.modules[0].processes, 1u);
  EXPECT_EQ(report.modules[0].bytes, (ModuleBytes{kSize, 0, kSize - 4096, 4096, 0}));
  EXPECT_EQ(report.modules[0].saved, kSize - 4096) << "two services, one copy";
  ASSERT_EQ(report.services.size(), 2u);
  EXPECT_EQ(report.services[0].bytes.pss, kSize / 2);
}

TEST_F(MemoryMeterTest, AFurtherCopyIsTheSameModuleAndAFileThatIsGoneIsNone) {
  const std::string copy = folder_ / "aa.2.so";
  const MappedModule second(copy);
  files_[0].copies = {copy};
  AddFile("gone", folder_ / "gone.so", {"a"});
  ASSERT_TRUE(Measure(MemoryDepth::kModules).ok());
  const HostSnapshot snapshot = Filled();
  ASSERT_EQ(snapshot.module_memory->modules.size(), 1u);
  EXPECT_EQ(snapshot.module_memory->modules[0].bytes.relocated, 3 * 2 * 4096u)
      << "in what plays keeper, supervisor and worker";
}

TEST_F(MemoryMeterTest, WhoAsksWhileModulesAreMeasuredGetsTheSameFigures) {
  int answered = 0;
  for (int i = 0; i < 100; ++i) {
    meter_.Measure(MemoryDepth::kModules, [&](const absl::Status& status) {
      EXPECT_TRUE(status.ok()) << status;
      ++answered;
    });
  }
  ASSERT_TRUE(testing::RunUntil(loop_, [&] { return answered > 0; }));
  EXPECT_EQ(answered, 100);
  EXPECT_EQ(changes_, 1);
  ASSERT_TRUE(Measure(MemoryDepth::kModules).ok());
  EXPECT_EQ(changes_, 2);
}

TEST_F(MemoryMeterTest, AProcessThatIsGoneHidesNoOtherAndTheOldReportGoesWithTheNext) {
  ASSERT_TRUE(Measure(MemoryDepth::kModules).ok());
  const auto before = Filled().module_memory;
  processes_.workers[0].pid = 1 << 30;
  time_.Pass(absl::Hours(1));
  ASSERT_TRUE(Measure(MemoryDepth::kModules).ok());
  const auto after = Filled().module_memory;
  EXPECT_EQ(after->measured - before->measured, absl::Hours(1));
  EXPECT_EQ(after->unmeasured, 1u);
  EXPECT_TRUE(after->services.empty());
}

TEST_F(MemoryMeterTest, ByItselfTotalsEveryHalfMinuteAndModulesOnceADay) {
  meter_.Begin(absl::Seconds(2));
  time_.Pass(absl::Seconds(2));
  ASSERT_TRUE(time_.RunDue());
  ASSERT_TRUE(testing::RunUntil(loop_, [&] { return changes_ == 1; }));
  EXPECT_EQ(time_.UntilNext(), MemoryMeter::kTotalsInterval);
  const auto run_for = [&](absl::Duration duration) {
    for (const absl::Time end = time_.Wall() + duration; time_.Wall() < end;) {
      time_.Pass(time_.UntilNext());
      const int before = changes_;
      time_.RunDue();
      ASSERT_TRUE(testing::RunUntil(loop_, [&] { return changes_ > before; }));
    }
  };
  run_for(MemoryMeter::kFirstMappings - absl::Minutes(1));
  EXPECT_EQ(Filled().module_memory, nullptr);
  run_for(MemoryMeter::kFirstMappings + absl::Minutes(2));
  const auto first = Filled().module_memory;
  ASSERT_NE(first, nullptr);
  // A day of half minutes without looking at each.
  meter_.Begin(MemoryMeter::kMappingsInterval * 3);
  time_.Pass(MemoryMeter::kFirstMappings * 2);
  ASSERT_TRUE(time_.RunDue());
  ASSERT_TRUE(testing::RunUntil(loop_, [&] { return Filled().module_memory != first; }));
  EXPECT_GE(time_.UntilNext(), MemoryMeter::kMappingsInterval);
  EXPECT_LE(time_.UntilNext(), MemoryMeter::kMappingsInterval + MemoryMeter::kMappingsJitter);
}

TEST(MemoryMeter, EndsWithoutAnAnswerWhileAMeasurementIsUnderWay) {
  ManualTime time;
  boost::asio::io_context loop;
  bool answered = false;
  {
    MemoryMeter meter({loop, time, time,
                       [] {
                         HostSnapshot snapshot;
                         snapshot.keeper_pid = snapshot.supervisor_pid = getpid();
                         return snapshot;
                       },
                       []() -> const std::vector<ListedFile>& {
                         static const std::vector<ListedFile> none;
                         return none;
                       },
                       [] {}, 1});
    meter.Measure(MemoryDepth::kProcesses, [&](const absl::Status&) { answered = true; });
    meter.Measure(MemoryDepth::kModules, [&](const absl::Status&) { answered = true; });
  }
  EXPECT_FALSE(answered);
}

}  // namespace
}  // namespace cohost::supervisor
