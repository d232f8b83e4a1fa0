// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/tree/written_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/supervisor/modules/tree/tree_world.h"

namespace cohost::supervisor {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Change = WrittenFile::Change;

class WrittenFilesTest : public ::testing::Test {
 protected:
  WrittenFilesTest() {
    world_.Write("Shop.dll", Assembly("shop"));
    world_.Write("conf/appsettings.json", "{}");
    world_.Link("Shop.dll", "link.dll");
    world_.MakeFolder("plugins");
    world_.Write("app.db", "tables");
    tree_ = world_.LayOut("shop", {"app.db", "uploads/**"});
    // As for a worker with our own identity, which can do the same.
    Open("");
    Open("/conf");
  }

  void Open(const std::string& path) {
    std::filesystem::permissions(tree_.path + path, std::filesystem::perms::owner_all);
  }
  void Write(const std::string& path, const std::string& content) {
    if (std::filesystem::exists(tree_.path + "/" + path)) Open("/" + path);
    std::ofstream(tree_.path + "/" + path) << content;
  }
  std::vector<WrittenFile> Find(WrittenCheck check = WrittenCheck::kMetadata) {
    const auto found = FindWritten(world_.store(), tree_.path, "shop", tree_.manifest, check);
    EXPECT_TRUE(found.ok()) << found.status();
    EXPECT_FALSE(found->is_cut);
    return found->files;
  }

  TreeWorld world_;
  LaidTree tree_;
};

TEST_F(WrittenFilesTest, NothingWasWrittenIntoANewTree) {
  EXPECT_THAT(Find(), IsEmpty());
  EXPECT_THAT(Find(WrittenCheck::kContent), IsEmpty());
}

TEST_F(WrittenFilesTest, WhatPersistsIsNoChange) {
  std::ofstream(tree_.path + "/app.db") << "many rows";
  std::ofstream(tree_.path + "/uploads/x") << "new";
  EXPECT_THAT(Find(WrittenCheck::kContent), IsEmpty());
}

TEST_F(WrittenFilesTest, AddedFilesAreFoundWithTheirSizes) {
  Write("errors.log", "12345");
  std::filesystem::create_directories(tree_.path + "/logs/old");
  std::filesystem::create_directories(tree_.path + "/empty");
  Write("logs/old/a.log", "1");
  EXPECT_THAT(Find(), ElementsAre(WrittenFile{"empty", Change::kAdded, {0}},
                                  WrittenFile{"errors.log", Change::kAdded, {5}},
                                  WrittenFile{"logs/old/a.log", Change::kAdded, {1}}));
}

TEST_F(WrittenFilesTest, ChangedFilesAreFound) {
  Write("conf/appsettings.json", "{1}");
  EXPECT_THAT(Find(), ElementsAre(WrittenFile{"conf/appsettings.json", Change::kChanged, {3}}));
  // Of the same size.
  Write("conf/appsettings.json", "[]");
  EXPECT_THAT(Find(), ElementsAre(WrittenFile{"conf/appsettings.json", Change::kChanged, {2}}));
}

TEST_F(WrittenFilesTest, AFileThatWasOnlyTouchedIsNotChanged) {
  Write("conf/appsettings.json", "{}");
  EXPECT_THAT(Find(), IsEmpty());
}

TEST_F(WrittenFilesTest, ATimeThatWasSetBackIsSeenThroughByContent) {
  const std::string path = tree_.path + "/conf/appsettings.json";
  const struct stat before = StatusOf(path);
  Write("conf/appsettings.json", "[]");
  const struct timespec times[2] = {before.st_mtim, before.st_mtim};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  EXPECT_THAT(Find(), IsEmpty());
  EXPECT_THAT(Find(WrittenCheck::kContent),
              ElementsAre(WrittenFile{"conf/appsettings.json", Change::kChanged, {2}}));
}

TEST_F(WrittenFilesTest, ALinkedFileThatWasReplacedIsFound) {
  const size_t size = Assembly("shop").size();
  std::filesystem::remove(tree_.path + "/Shop.dll");
  Write("Shop.dll", Assembly("evil"));
  EXPECT_THAT(Find(), ElementsAre(WrittenFile{"Shop.dll", Change::kChanged, {size}}));
  // By the same content: no difference to anybody but the memory that it costs.
  std::filesystem::remove(tree_.path + "/Shop.dll");
  Write("Shop.dll", Assembly("shop"));
  EXPECT_THAT(Find(), IsEmpty());
}

TEST_F(WrittenFilesTest, MissingAndReplacedNamesAreFound) {
  const size_t size = Assembly("shop").size();
  std::filesystem::remove(tree_.path + "/Shop.dll");
  std::filesystem::remove(tree_.path + "/plugins");
  std::filesystem::remove(tree_.path + "/link.dll");
  std::filesystem::create_symlink("/etc/passwd", tree_.path + "/link.dll");
  // A persisted file that was replaced instead of written through: lost with the revision.
  std::filesystem::remove(tree_.path + "/app.db");
  Write("app.db", "rows");
  EXPECT_THAT(Find(), ElementsAre(WrittenFile{"Shop.dll", Change::kMissing, {size}},
                                  WrittenFile{"app.db", Change::kChanged, {4}},
                                  WrittenFile{"link.dll", Change::kChanged, {11}},
                                  WrittenFile{"plugins", Change::kMissing, {0}}));
}

TEST_F(WrittenFilesTest, AFolderInPlaceOfAFileIsFound) {
  std::filesystem::remove(tree_.path + "/conf/appsettings.json");
  std::filesystem::create_directory(tree_.path + "/conf/appsettings.json");
  Write("conf/appsettings.json/x", "x");
  const std::vector<WrittenFile> found = Find();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].path, "conf/appsettings.json");
  EXPECT_EQ(found[0].change, Change::kChanged);
  EXPECT_EQ(found[1], (WrittenFile{"conf/appsettings.json/x", Change::kAdded, {1}}));
}

TEST_F(WrittenFilesTest, PipesAreNotOpened) {
  std::filesystem::remove(tree_.path + "/conf/appsettings.json");
  ASSERT_EQ(::mkfifo((tree_.path + "/conf/appsettings.json").c_str(), 0600), 0);
  EXPECT_THAT(Find(WrittenCheck::kContent),
              ElementsAre(WrittenFile{"conf/appsettings.json", Change::kChanged, {0}}));
}

TEST_F(WrittenFilesTest, ATreeThatIsGoneIsAnError) {
  EXPECT_EQ(
      FindWritten(world_.store(), tree_.path + "x", "shop", tree_.manifest, WrittenCheck::kMetadata)
          .status()
          .code(),
      absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace cohost::supervisor
