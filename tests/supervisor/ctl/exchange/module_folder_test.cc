// SPDX-License-Identifier: Apache-2.0
#include "supervisor/ctl/exchange/module_folder.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "base/system/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/supervisor/ctl/exchange/archive/sample_archive.h"

namespace cohost::supervisor {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

class ModuleFolderTest : public ::testing::Test {
 protected:
  std::set<std::string> Names() const {
    std::set<std::string> names;
    if (!std::filesystem::exists(path_)) return names;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      names.insert(entry.path().filename());
    }
    return names;
  }
  std::unique_ptr<ModuleFolder> Open() { return *ModuleFolder::Open(path_); }
  static mode_t ModeOf(const std::string& path) {
    struct stat info {};
    EXPECT_EQ(stat(path.c_str(), &info), 0);
    return info.st_mode & 07777;
  }

  const SampleArchive sample_;
  const std::string path_ = sample_.folder / "imported";
  const ArchivedFile orders_{{sample_.orders, StoredKind::kModule}, 6, true, ""};
  const ArchivedFile words_{{sample_.words, StoredKind::kDataImage}, 512, true, ""};
};

TEST_F(ModuleFolderTest, LaysWhatAnArchiveHas) {
  const auto folder = Open();
  const auto contents = sample_.Read(sample_.Bytes(true), folder.get());
  ASSERT_TRUE(contents.ok()) << contents.status();
  ASSERT_TRUE(folder->Sync().ok());
  folder->Keep();
  EXPECT_THAT(Names(), SizeIs(3));
  EXPECT_EQ(*ReadRegularFile(folder->PathOf(orders_), MiB(1)), "orders");
  EXPECT_EQ(ModeOf(folder->PathOf(orders_)), 0555u);
  EXPECT_EQ(ModeOf(folder->PathOf(words_)), 0444u);
}

TEST_F(ModuleFolderTest, WithoutKeepEverythingIsGoneAgain) {
  {
    const auto folder = Open();
    ASSERT_TRUE(sample_.Read(sample_.Bytes(true), folder.get()).ok());
    ASSERT_TRUE(folder->LaySignatures(orders_, "signed").ok());
    // And one that is not complete.
    ASSERT_TRUE(folder->Begin({{std::string(64, 'e'), StoredKind::kModule}, 9, true, ""}).ok());
    ASSERT_TRUE(folder->Write("half").ok());
    EXPECT_THAT(Names(), SizeIs(5));
  }
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(ModuleFolderTest, WhatWasThereStays) {
  {
    const auto first = Open();
    ASSERT_TRUE(first->Copy(orders_, sample_.folder / sample_.orders).ok());
    ASSERT_TRUE(first->LaySignatures(orders_, "before").ok());
    first->Keep();
  }
  {
    const auto second = Open();
    ASSERT_TRUE(sample_.Read(sample_.Bytes(true), second.get()).ok());
    ASSERT_TRUE(second->LaySignatures(orders_, "after").ok());
    EXPECT_EQ(*ReadRegularFile(second->PathOf(orders_) + ".sig", MiB(1)), "after");
  }
  EXPECT_THAT(Names(), ElementsAre(sample_.orders + ".so", sample_.orders + ".so.sig"));
  EXPECT_EQ(*ReadRegularFile(path_ + "/" + sample_.orders + ".so.sig", MiB(1)), "before");
}

TEST_F(ModuleFolderTest, AFileOfThatNameWithOtherContentIsNotTouched) {
  std::filesystem::create_directory(path_);
  const std::string path = path_ + "/" + sample_.orders + ".so";
  std::ofstream(path) << "somebody else's";
  {
    const auto folder = Open();
    EXPECT_EQ(folder->Begin(orders_).code(), absl::StatusCode::kFailedPrecondition);
  }
  EXPECT_EQ(*ReadRegularFile(path, MiB(1)), "somebody else's");
}

TEST_F(ModuleFolderTest, ACopyIsComparedWithItsName) {
  const auto folder = Open();
  EXPECT_EQ(folder->Copy(orders_, sample_.folder / sample_.words).code(),
            absl::StatusCode::kDataLoss);
  EXPECT_EQ(folder->Copy(orders_, sample_.folder / "nothing").code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(folder->PathOf(orders_)));
}

TEST_F(ModuleFolderTest, AFolderThatCannotBeMadeIsAnError) {
  std::ofstream(path_) << "a file";
  EXPECT_FALSE(ModuleFolder::Open(path_).ok());
  EXPECT_TRUE(std::filesystem::is_regular_file(path_));
}

}  // namespace
}  // namespace cohost::supervisor
