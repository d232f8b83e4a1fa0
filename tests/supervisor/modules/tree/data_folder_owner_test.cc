// SPDX-License-Identifier: Apache-2.0
//
// Apart from data_folder_test, since a sandbox has no other users.
#include <unistd.h>

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "supervisor/modules/tree/data_folder.h"
#include "tests/supervisor/modules/tree/tree_world.h"

namespace cohost::supervisor {
namespace {

TEST(DataFolderOwner, WhatIsMadeBelongsToTheServicesIdentity) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  TreeWorld world;
  world.Write("uploads/a/b", "x");
  const auto tree = world.Publish({"uploads/**"});
  ASSERT_TRUE(tree.ok()) << tree.status();
  const std::string data = world.state() + "/data";
  const auto folder = DataFolder::Open(data, "shop", {.uid = 12345, .gid = 23456});
  ASSERT_TRUE(folder.ok()) << folder.status();
  std::vector<std::string> notices;
  const absl::Status seeded = folder->Seed(tree->manifest, world.store(), &notices);
  ASSERT_TRUE(seeded.ok()) << seeded;
  for (const std::string path : {"", "/uploads", "/uploads/a", "/uploads/a/b"}) {
    EXPECT_EQ(StatusOf(data + "/shop" + path).st_uid, 12345u) << path;
    EXPECT_EQ(StatusOf(data + "/shop" + path).st_gid, 23456u) << path;
  }
  EXPECT_EQ(StatusOf(data).st_uid, 0u);
  EXPECT_EQ(StatusOf(data + "/.seeds/shop").st_uid, 0u);
  // Given to somebody already: theirs.
  ASSERT_TRUE(DataFolder::Open(data, "shop", {.uid = 1, .gid = 1}).ok());
  EXPECT_EQ(StatusOf(data + "/shop").st_uid, 12345u);
}

}  // namespace
}  // namespace cohost::supervisor
