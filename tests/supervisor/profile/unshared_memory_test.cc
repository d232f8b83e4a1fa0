// SPDX-License-Identifier: Apache-2.0
#include "supervisor/profile/unshared_memory.h"

#include "absl/status/status.h"
#include "gtest/gtest.h"

namespace cohost::supervisor {
namespace {

constexpr FileIdentity kProgram{8, 1, 1};
constexpr FileIdentity kModule{8, 1, 2};

ProcessMaps Process(uint64_t own, uint64_t program, uint64_t module) {
  ProcessMaps maps;
  maps.anonymous = {own};
  maps.files[kProgram].shared = {program};
  maps.files[kModule].private_clean = {module};
  maps.files[kModule].relocated = {500};  // among the anonymous pages
  return maps;
}

TEST(UnsharedMemory, ASamplesOwnMemoryIsAnonymousAndSharedMemory) {
  ProcessMaps maps = Process(1000, 300, 40);
  maps.shared_memory = {7};
  const UnsharedSample sample = MakeUnsharedSample("a", maps);
  EXPECT_EQ(sample.service, "a");
  EXPECT_TRUE(sample.status.ok());
  EXPECT_EQ(sample.own, 1007u);
  EXPECT_EQ(sample.files, 340u);
}

TEST(UnsharedMemory, TheMeanOfTheSamplesIsForEveryServiceAndAFileIsThereOnce) {
  UnsharedMemory memory;
  memory.services = 10;
  FilePages files;
  for (const ProcessMaps& maps : {Process(1000, 300, 40), Process(2000, 200, 60)}) {
    memory.samples.push_back(MakeUnsharedSample("s", maps));
    RaiseFilePages(maps, files);
  }
  ScaleUnshared(files, memory);
  EXPECT_EQ(memory.own, 15'000u);
  EXPECT_EQ(memory.files_copied, 3000u);
  EXPECT_EQ(memory.files_once, 300u + 60) << "the most that one process has of each";
}

TEST(UnsharedMemory, ASampleThatFailedIsInNoFigure) {
  UnsharedMemory memory;
  memory.services = 3;
  memory.samples.push_back(MakeUnsharedSample("a", Process(100, 10, 1)));
  memory.samples.push_back(MakeUnsharedSample("b", Process(9000, 900, 90)));
  memory.samples[1].status = absl::AbortedError("it has ended");
  ScaleUnshared({{kProgram, 10}}, memory);
  EXPECT_EQ(memory.own, 300u);
  EXPECT_EQ(memory.files_copied, 33u);
  EXPECT_EQ(memory.files_once, 10u);
  UnsharedMemory none;
  none.services = 3;
  none.samples.push_back(memory.samples[1]);
  ScaleUnshared({{kProgram, 10}}, none);
  EXPECT_EQ(none.own, 0u);
  EXPECT_EQ(none.files_once, 0u);
}

}  // namespace
}  // namespace cohost::supervisor
