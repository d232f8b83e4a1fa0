// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/publication.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/supervisor/modules/module_files.h"

namespace cohost::supervisor {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

StoreFolder OpenFolder(const TestFolder& folder) {
  auto opened = StoreFolder::Open(folder.path() + "/store");
  EXPECT_TRUE(opened.ok()) << opened.status();
  return *std::move(opened);
}

TEST(Publication, NothingCanBeSeenBeforeCommit) {
  const TestFolder folder;
  const StoreFolder store = OpenFolder(folder);
  {
    Publication publication(store);
    const auto added = publication.Add(folder.Write("a", "content"), StoredKind::kFile);
    ASSERT_TRUE(added.ok()) << added.status();
    EXPECT_TRUE(added->is_new);
    EXPECT_THAT(*store.List(), IsEmpty());
    EXPECT_FALSE(std::filesystem::exists(added->file.path));
  }
  // Ended without Commit: not even the staging folder.
  EXPECT_THAT(*NamesIn(store.path()), IsEmpty());
}

TEST(Publication, ContentWithoutASourceIsAFileLikeAnother) {
  const TestFolder folder;
  const StoreFolder store = OpenFolder(folder);
  const std::string content(3 << 20, 'x');  // more than is held of a source
  Publication publication(store);
  const auto made = publication.AddContent(content, StoredKind::kFile);
  ASSERT_TRUE(made.ok()) << made.status();
  const auto copied = publication.Add(folder.Write("a", content), StoredKind::kFile);
  ASSERT_TRUE(copied.ok()) << copied.status();
  EXPECT_EQ(made->hash, copied->file.hash);
  EXPECT_FALSE(copied->is_new);
  ASSERT_TRUE(publication.Commit().ok());
  EXPECT_EQ(CheckStoredFile(made->path, {made->hash, StoredKind::kFile}).value(),
            Bytes{content.size()});
}

TEST(Publication, ManyEqualFilesAreOne) {
  const TestFolder folder;
  const StoreFolder store = OpenFolder(folder);
  Publication publication(store);
  size_t fresh = 0;
  // More than are synced one by one.
  for (int i = 0; i < 60; ++i) {
    const auto added = publication.Add(
        folder.Write(absl::StrCat("f", i), absl::StrCat("content ", i % 20)), StoredKind::kFile);
    ASSERT_TRUE(added.ok()) << added.status();
    fresh += added->is_new ? 1 : 0;
  }
  ASSERT_TRUE(publication.Commit().ok());
  EXPECT_EQ(fresh, 20u);
  EXPECT_THAT(*store.List(), SizeIs(20));
  const std::vector<StoredName> names = store.List().value();
  for (const StoredName& name : names) {
    EXPECT_TRUE(CheckStoredFile(store.PathOf(name), name).ok());
    struct stat status;
    ASSERT_EQ(::stat(store.PathOf(name).c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0444u);
    EXPECT_EQ(status.st_nlink, 1u);
  }
}

TEST(Publication, WhatWasReadAheadIsNotReadAgainUnlessItChanged) {
  const TestFolder folder;
  const StoreFolder store = OpenFolder(folder);
  const std::string same = folder.Write("same", "content");
  const std::string changed = folder.Write("changed", "content");
  {
    Publication publication(store);
    ASSERT_TRUE(publication.Add(same, StoredKind::kFile).ok());
    ASSERT_TRUE(publication.Commit().ok());
  }
  Publication publication(store);
  publication.HashAhead({same, changed, folder.path() + "/missing", folder.path()});
  folder.Write("changed", "another content");
  const auto first = publication.Add(same, StoredKind::kFile);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_FALSE(first->is_new);
  const auto second = publication.Add(changed, StoredKind::kFile);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_TRUE(second->is_new);
  EXPECT_EQ(second->file.size.count, 15u);
  EXPECT_TRUE(
      absl::IsNotFound(publication.Add(folder.path() + "/missing", StoredKind::kFile).status()));
  ASSERT_TRUE(publication.Commit().ok());
  EXPECT_THAT(*store.List(), SizeIs(2));
}

TEST(Publication, AFileThatFailsLeavesTheOthers) {
  const TestFolder folder;
  const StoreFolder store = OpenFolder(folder);
  Publication publication(store);
  ASSERT_TRUE(publication.Add(folder.Write("a", "content"), StoredKind::kFile).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(
      publication.Add(folder.Write("b.so", "no module"), StoredKind::kModule).status()));
  EXPECT_TRUE(absl::IsNotFound(publication.Add(folder.path() + "/c", StoredKind::kFile).status()));
  ASSERT_TRUE(publication.Commit().ok());
  EXPECT_THAT(*store.List(), SizeIs(1));
}

TEST(Publication, OneContentOfTwoKindsIsTwoFiles) {
  const TestFolder folder;
  const StoreFolder store = OpenFolder(folder);
  Publication publication(store);
  const std::string source = folder.Write("a", "#!/bin/sh\n");
  ASSERT_TRUE(publication.Add(source, StoredKind::kFile).ok());
  const auto program = publication.Add(source, StoredKind::kProgram);
  ASSERT_TRUE(program.ok() && publication.Commit().ok());
  EXPECT_THAT(*store.List(), SizeIs(2));
  struct stat status;
  ASSERT_EQ(::stat(program->file.path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0555u);
}

TEST(Publication, TwoAtOnceGiveOneFile) {
  const TestFolder folder;
  const StoreFolder store = OpenFolder(folder);
  const std::string source = folder.Write("a", "content");
  Publication first(store);
  Publication second(store);
  const auto one = first.Add(source, StoredKind::kFile);
  const auto two = second.Add(source, StoredKind::kFile);
  ASSERT_TRUE(one.ok() && two.ok());
  ASSERT_TRUE(second.Commit().ok());
  struct stat before;
  ASSERT_EQ(::stat(two->file.path.c_str(), &before), 0);
  ASSERT_TRUE(first.Commit().ok());
  struct stat after;
  ASSERT_EQ(::stat(one->file.path.c_str(), &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino);
}

TEST(Publication, AFurtherCopyHasAnInodeOfItsOwnAndTheSameContent) {
  const TestFolder folder;
  const StoreFolder store = OpenFolder(folder);
  Publication publication(store);
  const auto added = publication.Add(folder.Write("a", "content"), StoredKind::kFile);
  ASSERT_TRUE(publication.Commit().ok());
  const StoredName first{added->file.hash, StoredKind::kFile};
  const StoredName second{added->file.hash, StoredKind::kFile, 2};
  Publication copy(store);
  ASSERT_TRUE(copy.AddCopy(first, second).ok());
  ASSERT_TRUE(copy.Commit().ok());
  EXPECT_TRUE(CheckStoredFile(store.PathOf(second), second).ok());
  // One that is damaged is not copied on.
  ASSERT_EQ(::chmod(store.PathOf(first).c_str(), 0644), 0);
  folder.Write("store/" + first.ToString(), "tampere");
  Publication bad(store);
  EXPECT_TRUE(absl::IsDataLoss(bad.AddCopy(first, {added->file.hash, StoredKind::kFile, 3})));
}

TEST(CheckStoredFile, TellsWhatIsNotWhatItsNameSays) {
  const TestFolder folder;
  const StoreFolder store = OpenFolder(folder);
  Publication publication(store);
  const auto added = publication.Add(folder.Write("a", "content"), StoredKind::kFile);
  ASSERT_TRUE(publication.Commit().ok());
  const StoredName name{added->file.hash, StoredKind::kFile};
  const std::string path = store.PathOf(name);
  EXPECT_EQ(CheckStoredFile(path, name)->count, 7u);
  ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
  folder.Write("store/" + name.ToString(), "Content");
  EXPECT_TRUE(absl::IsDataLoss(CheckStoredFile(path, name).status()));
  std::filesystem::remove(path);
  EXPECT_TRUE(absl::IsNotFound(CheckStoredFile(path, name).status()));
  std::filesystem::create_directory(path);
  EXPECT_TRUE(absl::IsDataLoss(CheckStoredFile(path, name).status()));
}

// A small file system of its own for the store, where this user may mount one.
class SmallDisk {
 public:
  explicit SmallDisk(const std::string& path) : path_(path) {
    std::filesystem::create_directories(path);
    mounted_ = ::mount("none", path.c_str(), "tmpfs", 0, "size=256k") == 0;
  }
  ~SmallDisk() {
    if (mounted_) ::umount2(path_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  bool mounted() const { return mounted_; }

 private:
  const std::string path_;
  bool mounted_;
};

TEST(Publication, AFullDiskIsOneClearErrorAndChangesNothing) {
  const TestFolder folder;
  const SmallDisk disk(folder.path() + "/store");
  if (!disk.mounted()) GTEST_SKIP() << "mounting needs root";
  const StoreFolder store = OpenFolder(folder);
  {
    Publication publication(store);
    ASSERT_TRUE(publication.Add(folder.Write("a", "content"), StoredKind::kFile).ok());
    ASSERT_TRUE(publication.Commit().ok());
  }
  const auto before = *NamesIn(store.path());
  {
    Publication publication(store);
    ASSERT_TRUE(publication.Add(folder.Write("b", "more"), StoredKind::kFile).ok());
    const auto added =
        publication.Add(folder.Write("c", std::string(1 << 20, 'c')), StoredKind::kFile);
    EXPECT_TRUE(absl::IsResourceExhausted(added.status())) << added.status();
  }
  EXPECT_EQ(*NamesIn(store.path()), before);
  Publication publication(store);
  EXPECT_TRUE(publication.Add(folder.Write("b", "more"), StoredKind::kFile).ok());
  EXPECT_TRUE(publication.Commit().ok());
}

}  // namespace
}  // namespace cohost::supervisor
