// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/tree/folder_walk.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/temporary_folder.h"

namespace cohost::supervisor {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

class FolderWalk : public ::testing::Test {
 protected:
  void Write(const std::string& path) {
    const std::filesystem::path full = folder_ / path;
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full) << path;
  }
  Walk Run(const WalkLimits& limits = {}) {
    auto walk = WalkFolder(Fd().get(), limits);
    EXPECT_TRUE(walk.ok()) << walk.status();
    return *std::move(walk);
  }
  UniqueFd Fd() { return UniqueFd(::open(folder_.path().c_str(), O_RDONLY | O_CLOEXEC)); }
  static std::vector<std::string> Paths(const Walk& walk) {
    std::vector<std::string> paths;
    for (const WalkedEntry& entry : walk.entries) paths.push_back(entry.path);
    return paths;
  }

  testing::TemporaryFolder folder_;
};

TEST_F(FolderWalk, ListsEverythingSortedByPath) {
  Write("b/c");
  Write("b.txt");
  Write("a");
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  std::filesystem::create_symlink("../outside", folder_ / "link");
  const Walk walk = Run();
  EXPECT_THAT(Paths(walk), ElementsAre("a", "b", "b.txt", "b/c", "link", "pipe"));
  EXPECT_EQ(walk.entries[0].type, WalkedEntry::Type::kFile);
  EXPECT_EQ(walk.entries[0].stamp.size, 1u);
  EXPECT_EQ(walk.entries[1].type, WalkedEntry::Type::kFolder);
  EXPECT_EQ(walk.entries[4].type, WalkedEntry::Type::kLink);
  EXPECT_EQ(walk.entries[4].target, "../outside");
  EXPECT_EQ(walk.entries[5].type, WalkedEntry::Type::kOther);
  EXPECT_EQ(walk.left_out, "");
}

TEST_F(FolderWalk, DoesNotFollowLinksToFolders) {
  std::filesystem::create_symlink("/", folder_ / "root");
  std::filesystem::create_symlink(".", folder_ / "self");
  EXPECT_THAT(Paths(Run()), ElementsAre("root", "self"));
}

TEST_F(FolderWalk, SaysWhatItsLimitsLeaveOut) {
  Write("a");
  Write("b/c/d");
  Write("e");
  EXPECT_EQ(Run({.entries = 5}).left_out, "");
  EXPECT_EQ(Run({.entries = 4}).left_out, "e");
  EXPECT_THAT(Run({.entries = 4}).entries, SizeIs(4));
  EXPECT_EQ(Run({.depth = 2}).left_out, "b/c/d");
}

TEST_F(FolderWalk, EntersOnlyTheFoldersAskedFor) {
  Write("a/x");
  Write("b/x");
  const Walk walk = Run({.enter = [](const std::string& path) { return path != "a"; }});
  EXPECT_THAT(Paths(walk), ElementsAre("a", "b", "b/x"));
}

TEST_F(FolderWalk, OpensBelowTheFolderOnly) {
  Write("a/b");
  std::filesystem::create_symlink("a", folder_ / "link");
  std::filesystem::create_symlink("b", folder_ / "a/link");
  const UniqueFd fd = Fd();
  EXPECT_TRUE(OpenBelow(fd.get(), "a/b", O_RDONLY).ok());
  EXPECT_TRUE(OpenFolderOf(fd.get(), "a/b").ok());
  EXPECT_TRUE(OpenFolderOf(fd.get(), "a").ok());
  EXPECT_EQ(OpenBelow(fd.get(), "a/missing", O_RDONLY).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_FALSE(OpenBelow(fd.get(), "link/b", O_RDONLY).ok());
  EXPECT_FALSE(OpenBelow(fd.get(), "a/link", O_RDONLY).ok());
  EXPECT_FALSE(OpenFolderOf(fd.get(), "link/b").ok());
  EXPECT_EQ(OpenBelow(fd.get(), "../x", O_RDONLY).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(OpenBelow(fd.get(), "/etc/passwd", O_RDONLY).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace cohost::supervisor
