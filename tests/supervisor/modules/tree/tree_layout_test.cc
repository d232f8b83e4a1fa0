// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/tree/tree_layout.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/system/unique_fd.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/supervisor/modules/tree/tree_world.h"

namespace cohost::supervisor {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string WriteThrough(const std::string& path, const std::string& content) {
  std::ofstream(path) << content;
  return ContentOf(path);
}

TEST(TreeLayout, ATreeHasWhatTheFolderHad) {
  TreeWorld world;
  world.Write("Shop.dll", Assembly("shop"));
  world.Write("conf/app settings.json", "{}");
  world.Write("run", "#!/bin/sh\n", 0755);
  world.Link("Shop.dll", "link.dll");
  world.MakeFolder("plugins/x");
  const LaidTree tree = world.LayOut("shop");
  EXPECT_TRUE(tree.is_new);
  EXPECT_EQ(tree.path, world.state() + "/trees/shop/" + tree.manifest.id());
  EXPECT_THAT(PathsBelow(tree.path), ElementsAre("Shop.dll", "conf", "conf/app settings.json",
                                                 "link.dll", "plugins", "plugins/x", "run"));
  EXPECT_EQ(ContentOf(tree.path + "/Shop.dll"), Assembly("shop"));
  EXPECT_EQ(ContentOf(tree.path + "/link.dll"), Assembly("shop"));
  EXPECT_EQ(ContentOf(tree.path + "/conf/app settings.json"), "{}");
  EXPECT_EQ(StatusOf(tree.path + "/Shop.dll").st_mode & 07777, 0444u);
  EXPECT_EQ(StatusOf(tree.path + "/run").st_mode & 07777, 0555u);
  EXPECT_EQ(StatusOf(tree.path + "/conf").st_mode & 07777, 0555u);
  EXPECT_EQ(StatusOf(tree.path).st_mode & 07777, 0555u);
}

TEST(TreeLayout, EachServiceHasItsOwnPathAndTheSameInodes) {
  TreeWorld world;
  world.Write("Shop.dll", Assembly("shop"));
  world.Write("appsettings.json", "{}");
  const LaidTree a = world.LayOut("a");
  const LaidTree b = world.LayOut("b");
  EXPECT_NE(a.path, b.path);
  EXPECT_EQ(a.manifest.id(), b.manifest.id());
  EXPECT_EQ(StatusOf(a.path + "/Shop.dll").st_ino, StatusOf(b.path + "/Shop.dll").st_ino);
  const auto stored =
      world.store().Find(a.manifest.Find("Shop.dll")->stored_hash, StoredKind::kAssembly);
  EXPECT_EQ(StatusOf(stored->path).st_ino, StatusOf(a.path + "/Shop.dll").st_ino);
  EXPECT_NE(StatusOf(a.path + "/appsettings.json").st_ino,
            StatusOf(b.path + "/appsettings.json").st_ino);
}

TEST(TreeLayout, LayingOutAgainChangesNothing) {
  TreeWorld world;
  world.Write("appsettings.json", "{}");
  const LaidTree first = world.LayOut("shop");
  const auto inode = StatusOf(first.path + "/appsettings.json").st_ino;
  const LaidTree again = world.LayOut("shop");
  EXPECT_FALSE(again.is_new);
  EXPECT_EQ(again.path, first.path);
  EXPECT_EQ(StatusOf(first.path + "/appsettings.json").st_ino, inode);
  EXPECT_THAT(PathsBelow(world.state() + "/trees/shop"), SizeIs(2));
}

TEST(TreeLayout, WritingToACopiedFileLeavesTheStore) {
  TreeWorld world;
  world.Write("appsettings.json", "{}");
  const LaidTree tree = world.LayOut("shop");
  std::filesystem::permissions(tree.path + "/appsettings.json", std::filesystem::perms::owner_all);
  WriteThrough(tree.path + "/appsettings.json", "changed");
  const auto stored =
      world.store().Find(tree.manifest.Find("appsettings.json")->stored_hash, StoredKind::kFile);
  EXPECT_EQ(ContentOf(stored->path), "{}");
}

TEST(TreeLayout, WhatPersistsOutlastsRevisions) {
  TreeWorld world;
  const std::vector<std::string> persist = {"*.db", "uploads/**", "later.json", "a/b/state.json"};
  world.Write("app.db", "tables");
  world.Write("uploads/seed.png", "seed");
  const LaidTree first = world.LayOut("shop", persist);
  EXPECT_EQ(ContentOf(first.path + "/app.db"), "tables");
  EXPECT_EQ(ContentOf(first.path + "/uploads/seed.png"), "seed");
  // Also a file that the application makes later, and one in a deeper folder.
  EXPECT_EQ(WriteThrough(first.path + "/app.db", "rows"), "rows");
  EXPECT_EQ(WriteThrough(first.path + "/uploads/new.png", "new"), "new");
  EXPECT_EQ(WriteThrough(first.path + "/later.json", "later"), "later");
  EXPECT_EQ(WriteThrough(first.path + "/a/b/state.json", "deep"), "deep");
  EXPECT_EQ(ContentOf(first.data + "/later.json"), "later");
  EXPECT_EQ(ContentOf(first.data + "/a/b/state.json"), "deep");

  world.Write("Shop.dll", Assembly("second"));
  world.Remove("app.db");  // the next revision comes without it
  const LaidTree second = world.LayOut("shop", persist);
  EXPECT_NE(second.path, first.path);
  EXPECT_EQ(ContentOf(second.path + "/app.db"), "rows");
  EXPECT_EQ(ContentOf(second.path + "/uploads/new.png"), "new");
  EXPECT_EQ(ContentOf(second.path + "/later.json"), "later");
  // Another service has data of its own.
  EXPECT_FALSE(std::filesystem::exists(world.LayOut("other", persist).path + "/later.json"));
}

// What persist's documentation says: such a file has to be named, or to have a folder of its own.
TEST(TreeLayout, AWildcardInTheTreesOwnFolderTakesNoNewFiles) {
  if (::geteuid() == 0) {
    TreeWorld world;
    world.Write("Shop.dll", Assembly("x"));
    const LaidTree tree = world.LayOut("shop", {"*.db"});
    EXPECT_EQ(TargetOf(tree.path + "/new.db"), "");
    EXPECT_EQ(StatusOf(tree.path).st_mode & 0222, 0u);
  } else {
    TreeWorld world;
    const LaidTree tree = world.LayOut("shop", {"*.db"});
    EXPECT_FALSE(std::ofstream(tree.path + "/new.db").is_open());
  }
}

TEST(TreeLayout, AFileThatWasPutIntoTheDataFolderGivesAnotherTree) {
  TreeWorld world;
  world.Write("Shop.dll", Assembly("x"));
  const LaidTree before = world.LayOut("shop", {"*.db"});
  std::ofstream(before.data + "/moved.db") << "rows";
  const LaidTree after = world.LayOut("shop", {"*.db"});
  EXPECT_NE(after.path, before.path);
  EXPECT_EQ(ContentOf(after.path + "/moved.db"), "rows");
  EXPECT_FALSE(std::filesystem::exists(before.path + "/moved.db"));
}

TEST(TreeLayout, DataLinksSurviveAMoveOfTheStateFolder) {
  TreeWorld world;
  world.Write("a/b/app.db", "tables");
  world.Write("a/b/x.dll", Assembly("x"));
  const LaidTree tree = world.LayOut("shop", {"a/b/*.db"});
  const std::string moved = world.state() + "-moved";
  std::filesystem::rename(world.state(), moved);
  EXPECT_EQ(ContentOf(moved + "/trees/shop/" + tree.manifest.id() + "/a/b/app.db"), "tables");
  std::filesystem::rename(moved, world.state());
}

TEST(TreeLayout, AMissingOrDamagedFileLeavesNoTree) {
  TreeWorld world;
  world.Write("a.json", "a");
  world.Write("b.json", "b");
  const auto published = world.Publish();
  const auto stored =
      world.store().Find(published->manifest.Find("b.json")->stored_hash, StoredKind::kFile);
  std::filesystem::remove(stored->path);
  EXPECT_EQ(world.layout().LayOut("shop", published->manifest, {}, {}).status().code(),
            absl::StatusCode::kNotFound);
  std::ofstream(stored->path) << "x";
  EXPECT_EQ(world.layout().LayOut("shop", published->manifest, {}, {}).status().code(),
            absl::StatusCode::kDataLoss);
  std::ofstream(stored->path) << "longer";
  EXPECT_EQ(world.layout().LayOut("shop", published->manifest, {}, {}).status().code(),
            absl::StatusCode::kDataLoss);
  EXPECT_THAT(PathsBelow(world.state() + "/trees/shop"), IsEmpty());
}

TEST(TreeLayout, RefusesNamesThatNoServiceHas) {
  TreeWorld world;
  for (const std::string& name :
       {std::string(), std::string("../x"), std::string("a/b"), std::string("."),
        std::string(".lay-1"), std::string("a\0b", 3)}) {
    EXPECT_EQ(world.layout().LayOut(name, {}, {}, {}).status().code(),
              absl::StatusCode::kInvalidArgument)
        << name;
  }
}

TEST(TreeLayout, ManyLinksTakeAFurtherCopy) {
  TreeWorld world;
  world.Write("Shop.dll", Assembly("x"));
  const auto published = world.Publish();
  std::vector<std::string> notices;
  const auto store =
      ModuleStore::Open({.folder = world.state() + "/modules", .most_links = 3}, &notices);
  const auto layout = TreeLayout::Open(**store, world.state());
  for (const std::string service : {"a", "b", "c", "d"}) {
    const auto tree = (*layout)->LayOut(service, published->manifest, {}, {});
    ASSERT_TRUE(tree.ok()) << tree.status();
    EXPECT_EQ(ContentOf(tree->path + "/Shop.dll"), Assembly("x"));
  }
}

TEST(TreeLayout, LeftoversOfAKilledLayOutAreRemovedAtOpen) {
  TreeWorld world;
  world.Write("a.json", "a");
  const LaidTree tree = world.LayOut("shop");
  const std::string folder = world.state() + "/trees/shop";
  std::filesystem::create_directories(folder + "/.lay-abcdef/sub");
  std::ofstream(folder + "/.lay-abcdef/sub/x") << "half";
  ASSERT_EQ(::chmod((folder + "/.lay-abcdef/sub").c_str(), 0555), 0);
  std::filesystem::create_directories(folder + "/.gone-" + std::string(64, 'a'));
  std::filesystem::create_directories(folder + "/.lay-living");
  std::filesystem::create_directories(folder + "/notes");
  std::filesystem::create_directories(world.state() + "/data/.seeding/");
  std::ofstream(world.state() + "/data/.seeding/x") << "half";
  const UniqueFd living(::open((folder + "/.lay-living").c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(::flock(living.get(), LOCK_EX), 0);
  world.Reopen();
  EXPECT_THAT(PathsBelow(folder), ElementsAre(".lay-living", tree.manifest.id(),
                                              tree.manifest.id() + "/a.json", "notes"));
  EXPECT_THAT(PathsBelow(world.state() + "/data"), ElementsAre(".seeds", "shop"));
}

TEST(TreeLayout, CollectRemovesWhatIsNotKept) {
  TreeWorld world;
  world.Write("sub/a.json", "a");
  const LaidTree first = world.LayOut("shop", {"data/**"});
  const LaidTree other = world.LayOut("other");
  world.Write("sub/a.json", "b");
  const LaidTree second = world.LayOut("shop", {"data/**"});
  std::ofstream(second.path + "/data/x") << "mine";
  const auto collection =
      world.layout().Collect({{"shop", {second.manifest.id()}}}, {}, absl::ZeroDuration());
  ASSERT_TRUE(collection.ok()) << collection.status();
  EXPECT_THAT(collection->removed, ElementsAre(other.path, first.path));
  EXPECT_FALSE(std::filesystem::exists(first.path));
  EXPECT_FALSE(std::filesystem::exists(world.state() + "/trees/other"));
  EXPECT_EQ(ContentOf(second.path + "/sub/a.json"), "b");
  EXPECT_EQ(ContentOf(world.state() + "/data/shop/data/x"), "mine");
  EXPECT_TRUE(std::filesystem::exists(world.state() + "/data/other"));
}

TEST(TreeLayout, CollectLeavesWhatIsYoungOrNoTree) {
  TreeWorld world;
  world.Write("a.json", "a");
  const LaidTree tree = world.LayOut("shop");
  std::filesystem::create_directories(world.state() + "/trees/shop/notes");
  std::ofstream(world.state() + "/trees/readme") << "x";
  const auto collection = world.layout().Collect({}, {}, absl::Hours(1));
  EXPECT_EQ(collection->young, 1u);
  EXPECT_THAT(collection->removed, IsEmpty());
  EXPECT_TRUE(std::filesystem::exists(tree.path));
  ASSERT_TRUE(world.layout().Collect({}, {}, absl::ZeroDuration()).ok());
  EXPECT_TRUE(std::filesystem::exists(world.state() + "/trees/shop/notes"));
  EXPECT_TRUE(std::filesystem::exists(world.state() + "/trees/readme"));
}

TEST(TreeLayout, ALibraryIsKeptByTheHashOfItsFile) {
  TreeWorld world;
  world.Write("a.json", "a");
  const auto published = world.Publish();
  ASSERT_TRUE(published.ok()) << published.status();
  const std::string used(64, 'a');
  const std::string unused(64, 'b');
  const auto first = world.layout().LayOutLibrary(used, published->manifest);
  const auto second = world.layout().LayOutLibrary(unused, published->manifest);
  ASSERT_TRUE(first.ok() && second.ok()) << first.status() << second.status();
  EXPECT_EQ(*first, world.state() + "/trees/+" + used + "/" + published->manifest.id());
  // It has no data folder.
  EXPECT_TRUE(std::filesystem::is_empty(world.state() + "/data"));
  EXPECT_EQ(world.layout().LayOutLibrary(used, published->manifest).value(), *first);
  const auto collection = world.layout().Collect({}, {used}, absl::ZeroDuration());
  ASSERT_TRUE(collection.ok()) << collection.status();
  EXPECT_THAT(collection->removed, ElementsAre(*second));
  EXPECT_EQ(ContentOf(*first + "/a.json"), "a");
}

TEST(TreeLayout, CollectGoesThroughNoLinks) {
  TreeWorld world;
  world.Write("uploads/a", "x");
  const LaidTree tree = world.LayOut("shop", {"uploads/**"});
  // A tree's name that leads elsewhere.
  std::filesystem::create_directory(world.state() + "/elsewhere");
  std::ofstream(world.state() + "/elsewhere/x") << "x";
  std::filesystem::create_symlink("../../elsewhere",
                                  world.state() + "/trees/shop/" + std::string(64, 'b'));
  ASSERT_TRUE(world.layout().Collect({}, {}, absl::ZeroDuration()).ok());
  EXPECT_EQ(ContentOf(world.state() + "/elsewhere/x"), "x");
  EXPECT_EQ(ContentOf(world.state() + "/data/shop/uploads/a"), "x");
  EXPECT_FALSE(std::filesystem::exists(tree.path));
}

TEST(TreeLayout, ServicesAreLaidOutAtTheSameTime) {
  TreeWorld world;
  for (int i = 0; i < 30; ++i) world.Write("f" + std::to_string(i), std::to_string(i));
  const auto published = world.Publish();
  std::vector<std::thread> threads;
  std::atomic<int> good = 0;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&, i] {
      const auto tree = world.layout().LayOut("s" + std::to_string(i), published->manifest, {}, {});
      if (tree.ok() && PathsBelow(tree->path).size() == 30) ++good;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 6);
}

}  // namespace
}  // namespace cohost::supervisor
