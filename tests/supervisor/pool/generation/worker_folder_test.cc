// SPDX-License-Identifier: Apache-2.0
#include "supervisor/pool/generation/worker_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "base/system/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/temporary_folder.h"

namespace cohost::supervisor {
namespace {

using ::testing::HasSubstr;

class WorkerFolderTest : public ::testing::Test {
 protected:
  std::string parent() const { return folder_ / "workers"; }
  std::string PathOf(uint32_t generation) const {
    return WorkerFolderPath(parent(), {std::string(63, 'g'), 255, generation});
  }

  testing::TemporaryFolder folder_;
};

TEST_F(WorkerFolderTest, IsShortAndAnotherForEachGeneration) {
  EXPECT_EQ(PathOf(1).size(), parent().size() + 13);
  EXPECT_NE(PathOf(1), PathOf(2));
  EXPECT_EQ(PathOf(1), PathOf(1));
}

TEST_F(WorkerFolderTest, IsForNobodyElse) {
  ASSERT_TRUE(MakeWorkerFolder(PathOf(1), {}).ok());
  struct stat info {};
  ASSERT_EQ(::stat(PathOf(1).c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0700u);
  EXPECT_EQ(info.st_uid, ::geteuid());
  ASSERT_EQ(::stat(parent().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0711u);
}

TEST_F(WorkerFolderTest, OfAnotherUserIsHisAndOurGroups) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give it away";
  ProcessIdentity identity;
  identity.uid = 65534;
  identity.gid = 65534;
  ASSERT_TRUE(MakeWorkerFolder(PathOf(1), identity).ok());
  struct stat info {};
  ASSERT_EQ(::stat(PathOf(1).c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0770u);
  EXPECT_EQ(info.st_uid, 65534u);
  EXPECT_EQ(info.st_gid, ::getegid());
}

TEST_F(WorkerFolderTest, GoesWithWhatIsInIt) {
  ASSERT_TRUE(MakeWorkerFolder(PathOf(1), {}).ok());
  ASSERT_TRUE(WriteFileAtomically(PathOf(1) + "/socket", "", 0600).ok());
  std::filesystem::create_symlink("/etc", PathOf(1) + "/link");
  EXPECT_TRUE(RemoveWorkerFolder(PathOf(1)).ok());
  EXPECT_FALSE(std::filesystem::exists(PathOf(1)));
  EXPECT_TRUE(std::filesystem::exists("/etc"));
  EXPECT_TRUE(RemoveWorkerFolder(PathOf(1)).ok()) << "again";
}

TEST_F(WorkerFolderTest, WhatCannotBeRemovedIsSaid) {
  ASSERT_TRUE(MakeWorkerFolder(PathOf(1), {}).ok());
  std::filesystem::create_directory(PathOf(1) + "/inner");
  EXPECT_THAT(std::string(RemoveWorkerFolder(PathOf(1)).message()), HasSubstr(PathOf(1)));
}

TEST_F(WorkerFolderTest, AnOldOneIsMadeAnew) {
  ASSERT_TRUE(MakeWorkerFolder(PathOf(1), {}).ok());
  ASSERT_TRUE(WriteFileAtomically(PathOf(1) + "/socket", "", 0600).ok());
  EXPECT_TRUE(MakeWorkerFolder(PathOf(1), {}).ok());
  EXPECT_TRUE(std::filesystem::is_empty(PathOf(1)));
}

TEST_F(WorkerFolderTest, OnlyThoseOfLivingWorkersStay) {
  EXPECT_TRUE(RemoveOtherWorkerFolders(parent(), {}).ok()) << "none was ever made";
  for (const uint32_t generation : {1, 2, 3}) {
    ASSERT_TRUE(MakeWorkerFolder(PathOf(generation), {}).ok());
  }
  EXPECT_TRUE(RemoveOtherWorkerFolders(parent(), {PathOf(2)}).ok());
  EXPECT_FALSE(std::filesystem::exists(PathOf(1)));
  EXPECT_TRUE(std::filesystem::exists(PathOf(2)));
  EXPECT_FALSE(std::filesystem::exists(PathOf(3)));
}

TEST_F(WorkerFolderTest, APathThatHoldsNoSocketIsRefused) {
  const std::string deep = folder_ / std::string(60, 'd');
  EXPECT_TRUE(absl::IsInvalidArgument(MakeWorkerFolder(deep, {})));
  EXPECT_FALSE(std::filesystem::exists(deep));
}

}  // namespace
}  // namespace cohost::supervisor
