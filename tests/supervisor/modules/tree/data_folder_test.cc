// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/tree/data_folder.h"

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
using ::testing::SizeIs;

class DataFolderTest : public ::testing::Test {
 protected:
  DataFolder Open(const DataOwner& owner = {}) {
    auto folder = DataFolder::Open(Data(), "shop", owner);
    EXPECT_TRUE(folder.ok()) << folder.status();
    return *std::move(folder);
  }
  // Publishes what the world has, and seeds the data folder with it.
  void Seed(const std::vector<std::string>& persist = {"uploads/**", "app.db"},
            const DataOwner& owner = {}) {
    const auto tree = world_.Publish(persist);
    ASSERT_TRUE(tree.ok()) << tree.status();
    const absl::Status status = Open(owner).Seed(tree->manifest, world_.store(), &notices_);
    EXPECT_TRUE(status.ok()) << status;
  }
  std::string Data() const { return world_.state() + "/data"; }
  std::string Path(const std::string& path) const { return Data() + "/shop/" + path; }
  void Overwrite(const std::string& path, const std::string& content) {
    std::ofstream(Path(path)) << content;
  }

  TreeWorld world_;
  std::vector<std::string> notices_;
};

TEST_F(DataFolderTest, SeedsAreCopiedWritable) {
  world_.Write("app.db", "tables");
  world_.Write("uploads/a/b.png", "image");
  world_.Write("uploads/tool", "#!", 0755);
  world_.MakeFolder("uploads/new");
  Seed();
  EXPECT_THAT(notices_, IsEmpty());
  EXPECT_THAT(PathsBelow(Data() + "/shop"),
              ElementsAre("app.db", "uploads", "uploads/a", "uploads/a/b.png", "uploads/new",
                          "uploads/tool"));
  EXPECT_EQ(ContentOf(Path("app.db")), "tables");
  EXPECT_EQ(StatusOf(Path("app.db")).st_mode & 07777, 0644u);
  EXPECT_EQ(StatusOf(Path("uploads/tool")).st_mode & 07777, 0755u);
  EXPECT_EQ(StatusOf(Data() + "/shop").st_mode & 07777, 02770u);
  // A file of its own, not the store's.
  EXPECT_EQ(StatusOf(Path("app.db")).st_nlink, 1u);
}

TEST_F(DataFolderTest, WhatTheServiceWroteIsNeverOverwritten) {
  world_.Write("app.db", "tables");
  world_.Write("uploads/a", "first");
  Seed();
  Overwrite("app.db", "rows");
  world_.Write("app.db", "new tables");
  world_.Write("uploads/b", "second");
  Seed();
  EXPECT_EQ(ContentOf(Path("app.db")), "rows");
  EXPECT_EQ(ContentOf(Path("uploads/b")), "second");
}

TEST_F(DataFolderTest, ASeedThatTheServiceRemovedStaysRemoved) {
  world_.Write("uploads/a", "first");
  Seed();
  std::filesystem::remove(Path("uploads/a"));
  Seed();
  world_.Write("uploads/a", "changed");
  Seed();
  EXPECT_FALSE(std::filesystem::exists(Path("uploads/a")));
}

TEST_F(DataFolderTest, WithoutItsRecordSeedsArePutWhereNothingIs) {
  world_.Write("uploads/a", "first");
  world_.Write("uploads/b", "second");
  Seed();
  Overwrite("uploads/a", "mine");
  std::filesystem::remove(Path("uploads/b"));
  std::ofstream(Data() + "/.seeds/shop") << std::string("cohost-seeds 1\nbad line\n\0", 25);
  Seed();
  EXPECT_EQ(ContentOf(Path("uploads/a")), "mine");
  EXPECT_EQ(ContentOf(Path("uploads/b")), "second");
}

TEST_F(DataFolderTest, MakesTheFoldersOfFilesThatComeLater) {
  Seed({"logs/**", "state/deep/x.json"});
  EXPECT_THAT(PathsBelow(Data() + "/shop"), ElementsAre("logs", "state", "state/deep"));
}

// The folder belongs to the service, and we may write everywhere.
TEST_F(DataFolderTest, LinksOfTheServiceAreNotFollowed) {
  const std::string outside = world_.state() + "/outside";
  std::filesystem::create_directory(outside);
  std::filesystem::create_directories(Data() + "/shop");
  std::filesystem::create_symlink(outside, Path("uploads"));
  std::filesystem::create_symlink(outside + "/made", Path("app.db"));
  world_.Write("app.db", "tables");
  world_.Write("uploads/a", "first");
  Seed();
  EXPECT_THAT(PathsBelow(outside), IsEmpty());
  EXPECT_EQ(TargetOf(Path("uploads")), outside);
  // For the folder itself, and for the file below.
  EXPECT_THAT(notices_, SizeIs(2));
}

TEST_F(DataFolderTest, AFileInTheWayOfAFolderIsLeft) {
  std::filesystem::create_directories(Data() + "/shop");
  Overwrite("uploads", "a file");
  world_.Write("uploads/a", "first");
  Seed();
  EXPECT_EQ(ContentOf(Path("uploads")), "a file");
  EXPECT_THAT(notices_, SizeIs(2));
}

TEST_F(DataFolderTest, ADamagedSeedIsAnError) {
  world_.Write("app.db", "tables");
  const auto tree = world_.Publish({"app.db"});
  const auto stored = world_.store().Find(tree->manifest.seeds()[0].hash, StoredKind::kFile);
  std::filesystem::permissions(stored->path, std::filesystem::perms::owner_all);
  std::ofstream(stored->path) << "tablet";
  EXPECT_EQ(Open().Seed(tree->manifest, world_.store(), &notices_).code(),
            absl::StatusCode::kDataLoss);
  EXPECT_FALSE(std::filesystem::exists(Path("app.db")));
  std::filesystem::remove(stored->path);
  EXPECT_EQ(Open().Seed(tree->manifest, world_.store(), &notices_).code(),
            absl::StatusCode::kNotFound);
}

TEST_F(DataFolderTest, FilesThatMatchAreLinkedThoughTheApplicationHasThemNoMore) {
  world_.Write("Shop.dll", Assembly("x"));
  world_.Write("data/readme", "x");
  const auto persist = *PersistRules::Parse({"*.db", "data/*.txt", "uploads/**"});
  const auto tree = PublishTree(world_.store(), world_.app(), persist);
  const DataFolder folder = Open();
  std::filesystem::create_directories(Path("data"));
  std::filesystem::create_directories(Path("uploads"));
  Overwrite("old.db", "x");
  Overwrite("old.db-wal", "x");
  Overwrite("data/a.txt", "x");
  Overwrite("uploads/x.db", "x");
  std::filesystem::create_symlink("/etc/passwd", Path("evil.db"));
  const auto manifest = folder.WithKeptFiles(tree->manifest, persist, &notices_);
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  std::vector<std::string> kept;
  for (const TreeEntry& entry : manifest->entries()) {
    if (entry.type == TreeEntry::Type::kDataFile) kept.push_back(entry.path);
  }
  EXPECT_THAT(kept, ElementsAre("data/a.txt", "old.db"));
  EXPECT_NE(manifest->id(), tree->manifest.id());
  EXPECT_THAT(notices_, IsEmpty());
}

TEST_F(DataFolderTest, WhatTheTreeHasIsNotHiddenByTheDataFolder) {
  world_.Write("x.db/inner.json", "x");
  world_.Write("data", "a file");
  const auto tree = world_.Publish();
  const auto persist = *PersistRules::Parse({"*.db", "data/*.db"});
  const DataFolder folder = Open();
  std::filesystem::create_directories(Path("data"));
  Overwrite("x.db", "x");
  Overwrite("data/y.db", "x");
  const auto manifest = folder.WithKeptFiles(tree->manifest, persist, &notices_);
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  EXPECT_EQ(manifest->id(), tree->manifest.id());
}

TEST_F(DataFolderTest, LinksALimitedNumberOfFiles) {
  const auto persist = *PersistRules::Parse({"*.db"});
  const DataFolder folder = Open();
  for (size_t i = 0; i <= DataFolder::kMostKept; ++i) Overwrite(std::to_string(i) + ".db", "");
  const auto manifest = folder.WithKeptFiles({}, persist, &notices_);
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  EXPECT_THAT(manifest->entries(), SizeIs(DataFolder::kMostKept));
  EXPECT_THAT(notices_, SizeIs(1));
}

}  // namespace
}  // namespace cohost::supervisor
