// SPDX-License-Identifier: Apache-2.0
//
// What is written where, on a folder that stands for the control group file system. With the real
// one of the machine: spawn_test and cases_test.
#include "supervisor/keeper/cgroup.h"

#include <unistd.h>

#include <filesystem>

#include "base/system/file.h"
#include "gtest/gtest.h"
#include "tests/support/temporary_folder.h"

namespace cohost::supervisor {
namespace {

class CgroupTest : public ::testing::Test {
 protected:
  std::string Read(const std::string& path) {
    const auto text = ReadRegularFile(folder_ / path, KiB(4));
    return text.ok() ? *text : text.status().ToString();
  }
  void Write(const std::string& path, const std::string& text) {
    ASSERT_TRUE(WriteFileAtomically(folder_ / path, text, 0600).ok());
  }
  testing::TemporaryFolder folder_;
};

TEST_F(CgroupTest, WithoutControlGroupsLimitsAreRemarkedOn) {
  std::vector<std::string> remarks;
  EXPECT_EQ(Cgroup::Create({}, "g", {.memory = 1}, remarks), nullptr);
  EXPECT_EQ(remarks.size(), 1u);
  remarks.clear();
  EXPECT_EQ(Cgroup::Create({}, "g", {}, remarks), nullptr);
  EXPECT_TRUE(remarks.empty());
}

TEST_F(CgroupTest, FolderThatCannotBeMadeIsRemarkedOnByItsReason) {
  CgroupLayout layout{CgroupLayout::Kind::kV1, {{"memory", folder_ / "none"}}};
  std::vector<std::string> remarks;
  EXPECT_EQ(Cgroup::Create(layout, "g", {.memory = 1}, remarks), nullptr);
  ASSERT_EQ(remarks.size(), 2u);
  EXPECT_NE(remarks[0].find("No such file or directory"), std::string::npos);
  EXPECT_EQ(remarks[1], "limits.memory is not applied: no control group");
}

TEST_F(CgroupTest, FolderOfAnotherProcessIsNotTaken) {
  ASSERT_TRUE(MakeFolders(folder_ / "g", 0700).ok());
  Write("g/cgroup.procs", "");
  CgroupLayout layout{CgroupLayout::Kind::kV2, {{"", folder_.path()}}};
  std::vector<std::string> remarks;
  EXPECT_EQ(Cgroup::Create(layout, "g", {}, remarks), nullptr);
  EXPECT_EQ(remarks.size(), 1u);
}

TEST_F(CgroupTest, Version1NeedsNoPreparation) {
  EXPECT_EQ(PrepareCgroups({CgroupLayout::Kind::kV1, {{"memory", "/nowhere"}}}, "keeper"), "");
}

TEST_F(CgroupTest, Version2MovesTheKeeperIntoALeafAndEnablesControllers) {
  ASSERT_TRUE(MakeFolders(folder_ / "keeper", 0700).ok());
  Write("keeper/cgroup.procs", "");
  Write("cgroup.subtree_control", "");
  const CgroupLayout layout{CgroupLayout::Kind::kV2, {{"", folder_.path()}}};
  EXPECT_EQ(PrepareCgroups(layout, "keeper"), "");
  EXPECT_EQ(Read("keeper/cgroup.procs"), "0");
  EXPECT_NE(Read("cgroup.subtree_control").find("+pids"), std::string::npos);
}

TEST_F(CgroupTest, Version2ThatCannotBePreparedSaysWhy) {
  const CgroupLayout layout{CgroupLayout::Kind::kV2, {{"", folder_ / "none"}}};
  EXPECT_NE(PrepareCgroups(layout, "keeper").find("No such file"), std::string::npos);
}

TEST_F(CgroupTest, OnlyEmptyGroupsOfDeadKeepersAreRemoved) {
  const std::string alive = OwnCgroupPrefix({1}) + "worker.a";
  const std::string own_pid = "-" + std::to_string(getpid()) + "-";
  // No process has a number beyond the kernel's largest possible.
  const auto dead_named = [&](const char* process) {
    std::string name = OwnCgroupPrefix({1}) + process;
    return name.replace(name.find(own_pid), own_pid.size(), "-4194305-");
  };
  const std::string dead = dead_named("worker.a");
  const std::string dead_but_used = dead_named("worker.b");
  const std::string elsewhere = "cohost.1-4194305-1.worker.a";
  for (const std::string& name : {dead, dead_but_used, alive, elsewhere}) {
    ASSERT_TRUE(MakeFolders(folder_ / name, 0700).ok());
  }
  Write(dead_but_used + "/cgroup.procs", "1\n");
  RemoveAbandonedCgroups({CgroupLayout::Kind::kV1, {{"memory", folder_.path()}}});
  EXPECT_FALSE(std::filesystem::exists(folder_ / dead));
  EXPECT_TRUE(std::filesystem::exists(folder_ / dead_but_used));
  EXPECT_TRUE(std::filesystem::exists(folder_ / alive));
  EXPECT_TRUE(std::filesystem::exists(folder_ / elsewhere));
}

}  // namespace
}  // namespace cohost::supervisor
