// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/store_folder.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "base/system/unique_fd.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/supervisor/modules/module_files.h"

namespace cohost::supervisor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const std::string kHash(64, 'a');

TEST(StoredName, ReadsExactlyWhatItWrites) {
  for (const StoredKind kind : kStoredKinds) {
    for (const uint32_t copy : {1u, 2u, 17u, 4'000'000'000u}) {
      const StoredName name{kHash, kind, copy};
      EXPECT_EQ(StoredName::Parse(name.ToString()), name) << name.ToString();
    }
  }
}

TEST(StoredName, RefusesEverythingElse) {
  for (const std::string& text :
       {std::string(), kHash, kHash + ".", kHash + ".txt", kHash + ".1.so", kHash + ".0.so",
        kHash + ".02.so", kHash + ".-2.so", kHash + ".+2.so", kHash + "..so", kHash + ".2",
        kHash + ".4294967296.so", kHash + ".2x.so", kHash + "a.so", std::string(63, 'a') + ".so",
        std::string(63, 'a') + "A.so", "../" + kHash + ".so", kHash + ".so/", kHash + ".2.so.so"}) {
    EXPECT_EQ(StoredName::Parse(text), std::nullopt) << text;
  }
}

TEST(CheckFileSystem, TakesLocalOnesAndRefusesOthersByName) {
  for (const int64_t type :
       {int64_t{EXT4_SUPER_MAGIC}, int64_t{XFS_SUPER_MAGIC}, int64_t{BTRFS_SUPER_MAGIC},
        int64_t{TMPFS_MAGIC}, int64_t{OVERLAYFS_SUPER_MAGIC}, int64_t{0x2fc12fc1}}) {
    EXPECT_TRUE(CheckFileSystem(type).ok()) << std::hex << type;
  }
  const absl::Status nfs = CheckFileSystem(NFS_SUPER_MAGIC);
  EXPECT_EQ(nfs.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(nfs.message()), HasSubstr("NFS"));
  // As a signed 32 bit number it is negative.
  EXPECT_FALSE(CheckFileSystem(static_cast<int32_t>(0xFF534D42)).ok());
  EXPECT_FALSE(CheckFileSystem(0xFF534D42).ok());
}

TEST(StoreFolder, RefusesAFileSystemWithoutHardLinks) {
  const auto folder = StoreFolder::Open("/proc/self");
  EXPECT_EQ(folder.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(folder.status().message()), HasSubstr("host.state_dir"));
}

TEST(StoreFolder, RemovesWhatTheDeadLeftAndNothingOfTheLiving) {
  const TestFolder folder;
  ASSERT_TRUE(std::filesystem::create_directories(folder.path() + "/.publish-living"));
  ASSERT_TRUE(std::filesystem::create_directories(folder.path() + "/.publish-dead/deeper"));
  folder.Write(".publish-dead/copy", "half");
  folder.Write(".publish-file", "no folder at all");
  folder.Write("README", "foreign");
  const UniqueFd living(
      ::open((folder.path() + "/.publish-living").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_EQ(::flock(living.get(), LOCK_EX), 0);
  const auto opened = StoreFolder::Open(folder.path());
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_THAT(*NamesIn(folder.path()), ElementsAre(".publish-living", "README"));
}

TEST(StoreFolder, AdmitNeverReplacesTheInodeThatIsThere) {
  const TestFolder folder;
  const auto store = StoreFolder::Open(folder.path() + "/store");
  ASSERT_TRUE(store.ok());
  const StoredName name{kHash, StoredKind::kFile};
  const auto stage = [&](const std::string& content) {
    std::string path = folder.Write("staged", content);
    EXPECT_EQ(::chmod(path.c_str(), 0444), 0);
    return path;
  };
  const auto first = store->Admit(stage("one"), name, Bytes{3});
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_TRUE(*first);
  struct stat before;
  ASSERT_EQ(::stat(store->PathOf(name).c_str(), &before), 0);
  const auto second = store->Admit(stage("one"), name, Bytes{3});
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_FALSE(*second);
  struct stat after;
  ASSERT_EQ(::stat(store->PathOf(name).c_str(), &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino);
}

TEST(StoreFolder, WhatIsDamagedIsSetAsideNeverDeleted) {
  const TestFolder folder;
  const auto store = StoreFolder::Open(folder.path() + "/store");
  ASSERT_TRUE(store.ok());
  const StoredName name{kHash, StoredKind::kFile};
  folder.Write("store/" + name.ToString(), "cut");
  const std::string staged = folder.Write("staged", "whole");
  ASSERT_EQ(::chmod(staged.c_str(), 0444), 0);
  const auto admitted = store->Admit(staged, name, Bytes{5});
  ASSERT_TRUE(admitted.ok() && *admitted) << admitted.status();
  EXPECT_EQ(ReadFile(store->PathOf(name)), "whole");
  const auto aside = *NamesIn(store->path() + "/damaged");
  ASSERT_THAT(aside, SizeIs(1));
  EXPECT_EQ(ReadFile(store->path() + "/damaged/" + aside[0]), "cut");
}

TEST(StoreFolder, HoldsOnlyWholeFilesThatNobodyMayWrite) {
  const TestFolder folder;
  const auto store = StoreFolder::Open(folder.path());
  ASSERT_TRUE(store.ok());
  const StoredName name{kHash, StoredKind::kFile};
  EXPECT_FALSE(store->Holds(name, Bytes{3}));
  folder.Write(name.ToString(), "one");
  EXPECT_FALSE(store->Holds(name, Bytes{3}));
  ASSERT_EQ(::chmod(store->PathOf(name).c_str(), 0444), 0);
  EXPECT_TRUE(store->Holds(name, Bytes{3}));
  EXPECT_FALSE(store->Holds(name, Bytes{4}));
  std::filesystem::remove(store->PathOf(name));
  std::filesystem::create_symlink("/bin/true", store->PathOf(name));
  EXPECT_FALSE(store->Holds(name, Bytes{std::filesystem::file_size("/bin/true")}));
  EXPECT_THAT(*store->List(), ElementsAre(name));
}

}  // namespace
}  // namespace cohost::supervisor
