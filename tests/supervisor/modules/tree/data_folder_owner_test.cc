// SPDX-License-Identifier: Apache-2.0
//
// Data folders of other users, as a supervisor that was started as root has them: it may change
// owners and read everything, but not write everywhere. Apart from data_folder_test, since a
// sandbox has no other users.
#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "supervisor/modules/tree/data_folder.h"
#include "tests/supervisor/modules/tree/tree_world.h"

namespace cohost::supervisor {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr uid_t kUser = 12345;

// This thread has it no more; whether that worked.
bool DropWritingEverywhere() {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  if (::syscall(SYS_capget, &header, data) != 0) return false;
  data[0].effective &= ~(1U << CAP_DAC_OVERRIDE);
  data[0].permitted &= ~(1U << CAP_DAC_OVERRIDE);
  return ::syscall(SYS_capset, &header, data) == 0;
}

class DataFolderOwner : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    ASSERT_TRUE(DropWritingEverywhere());
  }
  void Seed() {
    const auto tree = world_.Publish({"uploads/**"});
    ASSERT_TRUE(tree.ok()) << tree.status();
    const auto folder = DataFolder::Open(data_, "shop", {.uid = kUser});
    ASSERT_TRUE(folder.ok()) << folder.status();
    const absl::Status seeded = folder->Seed(tree->manifest, world_.store(), &notices_);
    ASSERT_TRUE(seeded.ok()) << seeded;
  }

  TreeWorld world_;
  const std::string data_ = world_.state() + "/data";
  std::vector<std::string> notices_;
};

TEST_F(DataFolderOwner, WhatIsMadeBelongsToTheServicesUser) {
  world_.Write("uploads/a/b", "x");
  Seed();
  for (const std::string path : {"", "/uploads", "/uploads/a", "/uploads/a/b"}) {
    EXPECT_EQ(StatusOf(data_ + "/shop" + path).st_uid, kUser) << path;
    EXPECT_EQ(StatusOf(data_ + "/shop" + path).st_gid, ::getegid()) << path;
  }
  EXPECT_EQ(StatusOf(data_).st_uid, 0u);
  EXPECT_EQ(StatusOf(data_ + "/.seeds/shop").st_uid, 0u);
  EXPECT_THAT(notices_, IsEmpty());
  // Given to somebody already: theirs.
  ASSERT_TRUE(DataFolder::Open(data_, "shop", {.uid = 1}).ok());
  EXPECT_EQ(StatusOf(data_ + "/shop").st_uid, kUser);
}

TEST_F(DataFolderOwner, LaterSeedsArePutIntoFoldersThatAreTheServices) {
  world_.Write("uploads/a/b", "x");
  Seed();
  world_.Write("uploads/a/c", "later");
  world_.Write("uploads/d/e", "later");
  Seed();
  EXPECT_THAT(notices_, IsEmpty());
  EXPECT_EQ(ContentOf(data_ + "/shop/uploads/a/c"), "later");
  EXPECT_EQ(StatusOf(data_ + "/shop/uploads/d/e").st_uid, kUser);
}

TEST_F(DataFolderOwner, AFolderThatTheServiceClosedGetsNoSeeds) {
  world_.Write("uploads/b", "x");
  Seed();
  const std::string own = data_ + "/shop/uploads/own";
  std::filesystem::create_directory(own);
  ASSERT_EQ(::chmod(own.c_str(), 0700), 0);
  ASSERT_EQ(::chown(own.c_str(), kUser, kUser), 0);
  world_.Write("uploads/own/c", "later");
  Seed();
  EXPECT_THAT(notices_, SizeIs(1));
  EXPECT_FALSE(std::filesystem::exists(own + "/c"));
}

}  // namespace
}  // namespace cohost::supervisor
