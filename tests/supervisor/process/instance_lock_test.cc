// SPDX-License-Identifier: Apache-2.0
#include "supervisor/process/instance_lock.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/system/file.h"
#include "gtest/gtest.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_process.h"

namespace cohost::supervisor {
namespace {

class InstanceLock : public ::testing::Test {
 protected:
  testing::TemporaryFolder folder_;
};

TEST_F(InstanceLock, SaysWhoHasIt) {
  auto holder = testing::TestProcess::Start({.command = {"/bin/sleep", "1000"}});
  ASSERT_TRUE(holder.ok());
  const std::string command_file = "/proc/" + std::to_string((*holder)->pid()) + "/cmdline";
  // The kernel shows it a moment after exec.
  ASSERT_TRUE(testing::Eventually([&] {
    const auto command = ReadRegularFile(command_file, KiB(4));
    return command.ok() && !command->empty();
  }));
  const auto lock = AcquireInstanceLock(folder_.path(), (*holder)->pid());
  ASSERT_TRUE(lock.ok()) << lock.status();
  const std::string pid = std::to_string((*holder)->pid());
  EXPECT_EQ(*ReadRegularFile(folder_ / "cohost.lock", KiB(1)), pid + "\n");
  const auto second = AcquireInstanceLock(folder_.path(), getpid());
  EXPECT_EQ(second.status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(std::string(second.status().message()),
            "folder '" + folder_.path() + "' is in use by process " + pid + " (/bin/sleep 1000)");
}

TEST_F(InstanceLock, LivesAsLongAsAnyDuplicate) {
  auto lock = AcquireInstanceLock(folder_.path(), getpid());
  ASSERT_TRUE(lock.ok());
  UniqueFd duplicate(fcntl(lock->get(), F_DUPFD_CLOEXEC, 0));
  lock->Reset();
  EXPECT_FALSE(AcquireInstanceLock(folder_.path(), getpid()).ok());
  duplicate.Reset();
  EXPECT_TRUE(AcquireInstanceLock(folder_.path(), getpid()).ok());
}

TEST_F(InstanceLock, LeftoverFileOfADeadHolderIsNoLock) {
  ASSERT_TRUE(WriteFileAtomically(folder_ / "cohost.lock", "999999999999\n", 0644).ok());
  const auto lock = AcquireInstanceLock(folder_.path(), getpid());
  ASSERT_TRUE(lock.ok());
  EXPECT_EQ(*ReadRegularFile(folder_ / "cohost.lock", KiB(1)), std::to_string(getpid()) + "\n");
}

TEST_F(InstanceLock, MissingFolderAndLinksAreErrors) {
  EXPECT_EQ(AcquireInstanceLock(folder_ / "none", 1).status().code(), absl::StatusCode::kNotFound);
  ASSERT_EQ(symlink("/tmp/elsewhere", (folder_ / "cohost.lock").c_str()), 0);
  EXPECT_FALSE(AcquireInstanceLock(folder_.path(), 1).ok());
}

}  // namespace
}  // namespace cohost::supervisor
