// SPDX-License-Identifier: Apache-2.0
#include "supervisor/process/process_stats.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "base/system/pidfd.h"
#include "gtest/gtest.h"
#include "tests/support/test_process.h"

namespace cohost::supervisor {
namespace {

constexpr char kRollup[] =
    "00400000-7ffff000 ---p 00000000 00:00 0    [rollup]\n"
    "Rss:                2048 kB\n"
    "Pss:                1000 kB\n"
    "Pss_Dirty:           300 kB\n"
    "Private_Clean:       100 kB\n"
    "Private_Dirty:       200 kB\n"
    "Anonymous:           150 kB\n";

std::string Replace(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

TEST(ParseSmapsRollup, ReadsTheFigures) {
  const auto stats = ParseSmapsRollup(kRollup);
  ASSERT_TRUE(stats.ok()) << stats.status();
  EXPECT_EQ(stats->pss, KiB(1000));
  EXPECT_EQ(stats->private_bytes, KiB(300));
  EXPECT_EQ(stats->anonymous, KiB(150));
}

TEST(ParseSmapsRollup, RefusesPartialAndHostileText) {
  EXPECT_FALSE(ParseSmapsRollup("").ok());
  const std::string text = kRollup;
  EXPECT_FALSE(ParseSmapsRollup(text.substr(0, text.size() - 8)).ok());
  EXPECT_FALSE(ParseSmapsRollup(Replace(text, "1000 kB", "-100 kB")).ok());
  EXPECT_FALSE(ParseSmapsRollup(Replace(text, "1000 kB", "1000 MB")).ok());
  EXPECT_FALSE(ParseSmapsRollup(Replace(text, "1000 kB", "99999999999999999999 kB")).ok());
  EXPECT_FALSE(ParseSmapsRollup(Replace(text, "1000 kB", "18014398509481984 kB")).ok());
  EXPECT_FALSE(ParseSmapsRollup(Replace(text, "Pss:  ", "Psss: ")).ok());
}

TEST(ParseProcStat, ReadsTimesAndThreadsWhateverTheName) {
  const std::string rest = " S 1 1 1 0 -1 4194560 1 2 3 4 250 50 0 0 20 0 7 0 100 1 2 3";
  for (const std::string name : {"sh", "a b", "a) S (b", ")) 9 9", ""}) {
    const auto stats = ParseProcStat("12 (" + name + ")" + rest, 100);
    ASSERT_TRUE(stats.ok()) << name;
    EXPECT_EQ(stats->user_time, absl::Milliseconds(2500));
    EXPECT_EQ(stats->system_time, absl::Milliseconds(500));
    EXPECT_EQ(stats->threads, 7u);
  }
}

TEST(ParseProcStat, RefusesPartialAndHostileText) {
  const std::string text = "12 (sh) S 1 1 1 0 -1 4194560 1 2 3 4 250 50 0 0 20 0 7 0 100 1 2 3";
  EXPECT_FALSE(ParseProcStat("", 100).ok());
  EXPECT_FALSE(ParseProcStat("12 sh S 1 1", 100).ok());
  EXPECT_FALSE(ParseProcStat(text.substr(0, text.find(" 7 ")), 100).ok());
  EXPECT_FALSE(ParseProcStat(Replace(text, "250", "-25"), 100).ok());
  EXPECT_FALSE(ParseProcStat(Replace(text, " 7 ", " x "), 100).ok());
  EXPECT_FALSE(ParseProcStat(text, 0).ok());
}

TEST(ProcessStats, ReadsThisProcess) {
  const UniqueFd pidfd = OpenPidfd(getpid());
  const auto stats = ProcessStats::Open(getpid(), pidfd.get());
  ASSERT_TRUE(stats.ok()) << stats.status();
  const auto before = stats->ReadMemory();
  ASSERT_TRUE(before.ok()) << before.status();
  // Touched pages appear in the figures.
  constexpr size_t kSize = 8 << 20;
  void* memory = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  std::memset(memory, 1, kSize);
  const auto after = stats->ReadMemory();
  ASSERT_TRUE(after.ok());
  EXPECT_GE(after->anonymous.count, before->anonymous.count + kSize);
  // Not the difference: pages of the program itself are private or shared, as other runs come and
  // go.
  EXPECT_GE(after->private_bytes.count, kSize);
  munmap(memory, kSize);
  const auto cpu = stats->ReadCpu();
  ASSERT_TRUE(cpu.ok());
  EXPECT_GE(cpu->threads, 1u);
}

TEST(ProcessStats, ReadsMappingsInPartsUntilTheReaderHasEnough) {
  const UniqueFd pidfd = OpenPidfd(getpid());
  const auto stats = ProcessStats::Open(getpid(), pidfd.get());
  ASSERT_TRUE(stats.ok());
  std::string text;
  int parts = 0;
  const absl::Status read = stats->ReadMaps([&](std::string_view part) {
    ++parts;
    text += part;
    return absl::OkStatus();
  });
  ASSERT_TRUE(read.ok()) << read;
  EXPECT_GT(parts, 1);
  EXPECT_NE(text.find("[stack]"), std::string::npos);
  EXPECT_EQ(text.substr(text.size() - 1), "\n");
  parts = 0;
  const absl::Status ended = stats->ReadMaps([&](std::string_view) {
    ++parts;
    return absl::DataLossError("enough");
  });
  EXPECT_EQ(ended.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(parts, 1);
}

TEST(ProcessStats, EndedProcessIsNotFound) {
  auto process = testing::TestProcess::Start({.command = {"/bin/sleep", "1000"}});
  ASSERT_TRUE(process.ok());
  const auto stats = ProcessStats::Open((*process)->pid(), (*process)->pidfd());
  ASSERT_TRUE(stats.ok());
  EXPECT_TRUE(stats->ReadMemory().ok());
  ASSERT_TRUE((*process)->Signal(SIGKILL));
  ASSERT_TRUE((*process)->WaitUntilEnded().has_value());
  EXPECT_EQ(stats->ReadMemory().status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(stats->ReadCpu().status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(stats->ReadMaps([](std::string_view) { return absl::OkStatus(); }).code(),
            absl::StatusCode::kNotFound);
  // Not even when the number lives again, as that of this test here.
  EXPECT_EQ(ProcessStats::Open(getpid(), (*process)->pidfd()).status().code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace cohost::supervisor
