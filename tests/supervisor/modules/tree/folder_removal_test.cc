// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/tree/folder_removal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/system/unique_fd.h"
#include "gtest/gtest.h"
#include "tests/support/temporary_folder.h"

namespace cohost::supervisor {
namespace {

UniqueFd Open(const testing::TemporaryFolder& folder) {
  return UniqueFd(::open(folder.path().c_str(), O_RDONLY | O_CLOEXEC));
}

TEST(FolderRemoval, RemovesFoldersThatNobodyMayWrite) {
  const testing::TemporaryFolder folder;
  std::filesystem::create_directories(folder / "a/b/c");
  std::ofstream(folder / "a/b/x") << "x";
  for (const std::string path : {"a/b/c", "a/b", "a"}) {
    ASSERT_EQ(::chmod((folder / path).c_str(), 0555), 0);
  }
  EXPECT_TRUE(RemoveBelow(Open(folder).get(), "a").ok());
  EXPECT_FALSE(std::filesystem::exists(folder / "a"));
}

TEST(FolderRemoval, RemovesLinksAndNotWhatTheyPointTo) {
  const testing::TemporaryFolder folder;
  std::filesystem::create_directories(folder / "kept");
  std::ofstream(folder / "kept/x") << "x";
  std::filesystem::create_directories(folder / "a");
  std::filesystem::create_directory_symlink("../kept", folder / "a/link");
  std::filesystem::create_directory_symlink("kept", folder / "link");
  EXPECT_TRUE(RemoveBelow(Open(folder).get(), "a").ok());
  EXPECT_TRUE(RemoveBelow(Open(folder).get(), "link").ok());
  EXPECT_TRUE(std::filesystem::exists(folder / "kept/x"));
  EXPECT_FALSE(std::filesystem::exists(folder / "link"));
}

TEST(FolderRemoval, WhatIsNotThereIsFine) {
  const testing::TemporaryFolder folder;
  EXPECT_TRUE(RemoveBelow(Open(folder).get(), "a").ok());
}

TEST(FolderRemoval, GivesUpWhereItIsTooDeep) {
  const testing::TemporaryFolder folder;
  std::string path = folder / "a";
  for (int i = 0; i < 300; ++i) path += "/a";
  std::filesystem::create_directories(path);
  EXPECT_EQ(RemoveBelow(Open(folder).get(), "a").code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace cohost::supervisor
