// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/tree/tree_publisher.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/supervisor/modules/tree/tree_world.h"

namespace cohost::supervisor {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<std::string> Paths(const TreeManifest& manifest) {
  std::vector<std::string> paths;
  for (const TreeEntry& entry : manifest.entries()) paths.push_back(entry.path);
  return paths;
}
std::vector<std::string> SeedPaths(const TreeManifest& manifest) {
  std::vector<std::string> paths;
  for (const TreeSeed& seed : manifest.seeds()) paths.push_back(seed.path);
  return paths;
}
size_t StoredFiles(TreeWorld& world) { return world.store().List()->size(); }

TEST(TreePublisher, PutsEveryFileIntoTheStoreAndNamesIt) {
  TreeWorld world;
  world.Write("Shop.dll", Assembly("shop"));
  world.Write("appsettings.json", "{}");
  world.Write("wwwroot/site.css", "body {}");
  world.Write("run", "#!/bin/sh\n", 0755);
  world.MakeFolder("plugins/empty");
  const auto tree = world.Publish();
  ASSERT_TRUE(tree.ok()) << tree.status();
  EXPECT_THAT(tree->notices, IsEmpty());
  EXPECT_THAT(Paths(tree->manifest), ElementsAre("Shop.dll", "appsettings.json", "plugins/empty",
                                                 "run", "wwwroot/site.css"));
  const TreeEntry& assembly = *tree->manifest.Find("Shop.dll");
  EXPECT_EQ(assembly.kind, StoredKind::kAssembly);
  EXPECT_EQ(assembly.placing, Placing::kLink);
  EXPECT_EQ(assembly.mode, 0444u);
  EXPECT_EQ(assembly.source_hash, assembly.stored_hash);
  const auto stored = world.store().Find(assembly.stored_hash, StoredKind::kAssembly);
  ASSERT_TRUE(stored.ok()) << stored.status();
  EXPECT_EQ(ContentOf(stored->path), Assembly("shop"));
  EXPECT_EQ(assembly.size, stored->size);
  EXPECT_EQ(tree->manifest.Find("appsettings.json")->placing, Placing::kCopy);
  EXPECT_EQ(tree->manifest.Find("run")->mode, 0555u);
  EXPECT_EQ(tree->manifest.Find("plugins/empty")->type, TreeEntry::Type::kFolder);
  EXPECT_EQ(StoredFiles(world), 4u);
}

TEST(TreePublisher, TheSameFolderIsTheSameTree) {
  TreeWorld world;
  world.Write("a.json", "a");
  world.Write("x/b.json", "b");
  const auto first = world.Publish();
  const auto again = world.Publish();
  EXPECT_EQ(first->manifest.id(), again->manifest.id());
  EXPECT_EQ(StoredFiles(world), 2u);
  world.Write("x/b.json", "c");
  EXPECT_NE(world.Publish()->manifest.id(), first->manifest.id());
}

TEST(TreePublisher, WhatPersistsIsASeedAndNoPartOfTheTree) {
  TreeWorld world;
  world.Write("Shop.dll", Assembly("shop"));
  world.Write("app.db", "tables");
  world.Write("uploads/a/b.png", "image");
  world.Write("uploads/tool", "x", 0755);
  world.MakeFolder("uploads/new");
  const auto tree = world.Publish({"*.db", "uploads/**", "logs/**", "later.json"});
  ASSERT_TRUE(tree.ok()) << tree.status();
  EXPECT_THAT(Paths(tree->manifest),
              ElementsAre("Shop.dll", "app.db", "later.json", "logs", "uploads"));
  EXPECT_EQ(tree->manifest.Find("app.db")->type, TreeEntry::Type::kDataFile);
  EXPECT_EQ(tree->manifest.Find("later.json")->type, TreeEntry::Type::kDataFile);
  EXPECT_EQ(tree->manifest.Find("logs")->type, TreeEntry::Type::kDataFolder);
  EXPECT_THAT(SeedPaths(tree->manifest),
              ElementsAre("app.db", "uploads/a/b.png", "uploads/new", "uploads/tool"));
  EXPECT_EQ(tree->manifest.seeds()[3].mode, 0555u);
  EXPECT_TRUE(tree->manifest.seeds()[2].is_folder);
  EXPECT_TRUE(world.store().Find(tree->manifest.seeds()[0].hash, StoredKind::kFile).ok());
  // That files matching *.db cannot be made later.
  EXPECT_THAT(tree->notices, SizeIs(1));
}

TEST(TreePublisher, KeepsLinksThatStayInside) {
  TreeWorld world;
  world.Write("lib/libx.so.1", LibraryBytes("x"));
  world.Link("./libx.so.1", "lib/libx.so");
  world.Link("lib/libx.so", "libx.so");
  world.Link("../lib", "bin/lib");
  const auto tree = world.Publish();
  ASSERT_TRUE(tree.ok()) << tree.status();
  EXPECT_EQ(tree->manifest.Find("lib/libx.so")->target, "libx.so.1");
  EXPECT_EQ(tree->manifest.Find("libx.so")->type, TreeEntry::Type::kLink);
  EXPECT_EQ(tree->manifest.Find("bin/lib")->target, "../lib");
  EXPECT_THAT(tree->manifest.entries(), SizeIs(4));
}

TEST(TreePublisher, RefusesLinksThatLeaveTheFolder) {
  for (const std::string target : {"/etc/passwd", "../secret", "x/../../secret", "../../../etc"}) {
    TreeWorld world;
    world.Write("x/a.json", "a");
    world.Link(target, "link");
    EXPECT_EQ(world.Publish().status().code(), absl::StatusCode::kInvalidArgument) << target;
    EXPECT_EQ(StoredFiles(world), 0u);
  }
}

TEST(TreePublisher, RefusesWhatIsNoFile) {
  TreeWorld world;
  world.Write("a.json", "a");
  ASSERT_EQ(::mkfifo((world.app() + "/pipe").c_str(), 0600), 0);
  const auto tree = world.Publish();
  EXPECT_EQ(tree.status().code(), absl::StatusCode::kInvalidArgument) << tree.status();
  // In a folder that is the service's own it is left there.
  world.Remove("pipe");
  world.MakeFolder("run");
  ASSERT_EQ(::mkfifo((world.app() + "/run/pipe").c_str(), 0600), 0);
  const auto persisted = world.Publish({"run/**"});
  ASSERT_TRUE(persisted.ok()) << persisted.status();
  EXPECT_THAT(persisted->notices, SizeIs(1));
  EXPECT_THAT(persisted->manifest.seeds(), IsEmpty());
}

TEST(TreePublisher, RefusesWhatIsMissingOrNoFolder) {
  TreeWorld world;
  world.Write("a.json", "a");
  EXPECT_EQ(PublishTree(world.store(), world.app() + "/missing", {}).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(PublishTree(world.store(), world.app() + "/a.json", {}).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST(TreePublisher, AnEmptyFolderIsAnEmptyTree) {
  TreeWorld world;
  const auto tree = world.Publish();
  ASSERT_TRUE(tree.ok()) << tree.status();
  EXPECT_EQ(tree->manifest.id(), TreeManifest().id());
}

TEST(TreePublisher, FoldersThatAreTooDeepAreRefused) {
  TreeWorld world;
  std::string path = "a";
  for (size_t i = 0; i < kMaxTreeDepth; ++i) path += "/a";
  world.Write(path, "x");
  EXPECT_EQ(world.Publish().status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(TreePublisher, FollowsTheLinkThatNamesTheFolder) {
  TreeWorld world;
  world.Write("a.json", "a");
  std::filesystem::create_symlink("app", world.app() + "-current");
  const auto tree = PublishTree(world.store(), world.app() + "-current", {});
  ASSERT_TRUE(tree.ok()) << tree.status();
  EXPECT_EQ(tree->manifest.id(), world.Publish()->manifest.id());
}

// Publishes while `change` runs again and again on another thread, until a publish fails.
absl::Status PublishWhile(TreeWorld& world, const std::function<void(int)>& change) {
  std::atomic<bool> done = false;
  std::thread writer([&] {
    for (int i = 0; !done; ++i) change(i);
  });
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  absl::Status status;
  while (status.ok() && std::chrono::steady_clock::now() < deadline) {
    status = world.Publish().status();
  }
  done = true;
  writer.join();
  return status;
}

TEST(TreePublisher, AFileThatChangesWhileItIsReadFailsThePublish) {
  TreeWorld world;
  for (int i = 0; i < 20; ++i) world.Write("f" + std::to_string(i), std::string(100'000, 'a'));
  const std::string path = world.app() + "/f10";
  const absl::Status status = PublishWhile(world, [&path](int i) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    const char c = static_cast<char>('a' + i % 26);
    EXPECT_EQ(::pwrite(fd, &c, 1, i % 100'000), 1);
    ::close(fd);
  });
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted) << status;
}

TEST(TreePublisher, AFileThatComesAndGoesFailsThePublish) {
  TreeWorld world;
  for (int i = 0; i < 20; ++i) world.Write("f" + std::to_string(i), std::string(100'000, 'a'));
  const std::string path = world.app() + "/x";
  const absl::Status status = PublishWhile(world, [&path](int i) {
    if (i % 2 == 0) {
      std::ofstream(path) << i;
    } else {
      std::filesystem::remove(path);
    }
  });
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted) << status;
}

// Whoever may write to the folder must not get files of others published by a supervisor that may
// read everything.
TEST(TreePublisher, NeverReadsOutsideTheFolderWhoeverSwapsItsParts) {
  TreeWorld world;
  const std::string outside = world.app() + "-outside";
  std::filesystem::create_directory(outside);
  std::ofstream(outside + "/f") << "secret";
  for (int i = 0; i < 10; ++i) world.Write("a" + std::to_string(i), std::string(50'000, 'a'));
  world.Write("part/f", "public");
  const std::string part = world.app() + "/part";
  std::atomic<bool> done = false;
  std::thread attacker([&] {
    while (!done) {
      std::filesystem::rename(part, part + "-aside");
      std::filesystem::create_symlink(outside, part);
      std::filesystem::remove(part);
      std::filesystem::rename(part + "-aside", part);
      std::this_thread::yield();
    }
  });
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(3);
  while (std::chrono::steady_clock::now() < end) {
    const auto tree = world.Publish();
    EXPECT_TRUE(tree.ok() || absl::IsAborted(tree.status()) ||
                absl::IsInvalidArgument(tree.status()))
        << tree.status();
  }
  done = true;
  attacker.join();
  const auto files = world.store().List();
  ASSERT_TRUE(files.ok()) << files.status();
  for (const ListedFile& file : *files) {
    EXPECT_NE(ContentOf(file.file.path), "secret");
  }
}

}  // namespace
}  // namespace cohost::supervisor
