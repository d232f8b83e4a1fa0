// SPDX-License-Identifier: Apache-2.0
#include "supervisor/pool/worker_log.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system/file.h"
#include "tests/support/temporary_folder.h"

namespace cohost::supervisor {
namespace {

class WorkerLogTest : public ::testing::Test {
 protected:
  std::string Read(const std::string& name) {
    return ReadRegularFile(folder_ / name, MiB(1)).value_or("(none)");
  }

  testing::TemporaryFolder folder_;
  WorkerLog log_{folder_.path(), "steady", 3};
};

TEST_F(WorkerLogTest, IsAppendedToByEveryGeneration) {
  ASSERT_TRUE(WriteAll(log_.Open()->get(), "one\n").ok());
  ASSERT_TRUE(WriteAll(log_.Open()->get(), "two\n").ok());
  EXPECT_EQ(Read("steady-3.log"), "one\ntwo\n");
  struct stat status = {};
  ASSERT_EQ(stat(log_.path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777 & ~0640, 0u);
}

TEST_F(WorkerLogTest, RotatesAtItsSizeAndKeepsSoManyFiles) {
  UniqueFd file = *log_.Open();
  EXPECT_FALSE(log_.NeedsRotation({4}));
  for (const char* line : {"1111", "2222", "3333", "4444"}) {
    ASSERT_TRUE(WriteAll(file.get(), line).ok());
    EXPECT_TRUE(log_.NeedsRotation({4}));
    file = *log_.Rotate(3);
    EXPECT_FALSE(log_.NeedsRotation({4}));
  }
  EXPECT_EQ(Read("steady-3.log"), "");
  EXPECT_EQ(Read("steady-3.log.1"), "4444");
  EXPECT_EQ(Read("steady-3.log.2"), "3333");
  EXPECT_EQ(Read("steady-3.log.3"), "(none)");
}

TEST_F(WorkerLogTest, NoLineIsLostBetweenTheRenameAndTheNewDescriptor) {
  const UniqueFd old = *log_.Open();
  const UniqueFd fresh = *log_.Rotate(4);
  ASSERT_TRUE(WriteAll(old.get(), "late\n").ok());
  ASSERT_TRUE(WriteAll(fresh.get(), "new\n").ok());
  EXPECT_EQ(Read("steady-3.log.1"), "late\n");
  EXPECT_EQ(Read("steady-3.log"), "new\n");
}

TEST_F(WorkerLogTest, OneFileBeginsAnew) {
  ASSERT_TRUE(WriteAll(log_.Open()->get(), "old").ok());
  const UniqueFd fresh = *log_.Rotate(1);
  EXPECT_EQ(Read("steady-3.log"), "");
  EXPECT_EQ(Read("steady-3.log.1"), "(none)");
}

TEST_F(WorkerLogTest, ADeletedFileIsMadeAgain) {
  const UniqueFd file = *log_.Open();
  ASSERT_EQ(unlink(log_.path().c_str()), 0);
  EXPECT_TRUE(log_.NeedsRotation(MiB(1)));
  ASSERT_TRUE(log_.Rotate(4).ok());
  EXPECT_EQ(Read("steady-3.log"), "");
}

TEST_F(WorkerLogTest, ALinkInItsPlaceIsNotFollowed) {
  ASSERT_EQ(symlink((folder_ / "elsewhere").c_str(), log_.path().c_str()), 0);
  EXPECT_FALSE(log_.Open().ok());
  EXPECT_EQ(Read("elsewhere"), "(none)");
}

}  // namespace
}  // namespace cohost::supervisor
