// SPDX-License-Identifier: Apache-2.0
#include "supervisor/deployer/store_care.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/temporary_folder.h"

namespace cohost::supervisor {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

class StoreCareTest : public ::testing::Test {
 protected:
  StoredFile Publish(const std::string& name, const std::string& content) {
    std::ofstream(folder_ / name) << content;
    return store_->Publish(folder_ / name, StoredKind::kFile).value();
  }
  std::string RecordOf(const std::string& kind, const std::string& name) const {
    return folder_ / ("store/" + kind + "/" + name);
  }

  const cohost::testing::TemporaryFolder folder_;
  std::vector<std::string> notices_;
  std::unique_ptr<ModuleStore> store_ =
      ModuleStore::Open({.folder = folder_ / "store"}, &notices_).value();
};

TEST_F(StoreCareTest, DoesOnlyWhatIsAsked) {
  const StoredFile file = Publish("a", "content");
  const auto checked = CareForStore(*store_, folder_.path(), {}, {.check = true});
  ASSERT_TRUE(checked.ok()) << checked.status();
  EXPECT_EQ(checked->check.files, 1u);
  EXPECT_TRUE(std::filesystem::exists(file.path));
  // A young file is left to whoever has just published it.
  const auto collected = CareForStore(*store_, folder_.path(), {}, {.collect = true});
  ASSERT_TRUE(collected.ok()) << collected.status();
  EXPECT_EQ(collected->check.files, 0u);
  EXPECT_EQ(collected->collection.young, 1u);
  EXPECT_TRUE(std::filesystem::exists(file.path));
}

TEST_F(StoreCareTest, TellsWhatAServiceNeedsAndIsNotThere) {
  const StoredFile file = Publish("a", "content");
  const std::vector<NeededFile> needed = {
      {"shop", "/srv/a", file.hash, StoredKind::kFile},
      {"cart", "/srv/b", std::string(64, '0'), StoredKind::kModule}};
  const auto outcome =
      CareForStore(*store_, folder_.path(), {{file.hash}, needed}, {.check = true});
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  ASSERT_THAT(outcome->missing, SizeIs(1));
  EXPECT_THAT(outcome->missing[0], ::testing::HasSubstr("'cart'"));
  EXPECT_THAT(outcome->missing[0], ::testing::HasSubstr("/srv/b"));
}

TEST_F(StoreCareTest, WhatIsKnownOfDamagedFilesStaysAndTheCheckLeavesTheRecordsAlone) {
  const StoredFile file = Publish("a", "content");
  std::filesystem::create_directories(folder_ / "store/signatures");
  std::filesystem::create_directories(folder_ / "store/derived");
  std::ofstream(RecordOf("signatures", file.hash + ".sig")) << "kept";
  ASSERT_EQ(::chmod(file.path.c_str(), 0644), 0);
  std::ofstream(file.path) << "damaged";
  const auto checked = CareForStore(*store_, folder_.path(), {}, {.check = true, .collect = true});
  ASSERT_TRUE(checked.ok()) << checked.status();
  EXPECT_THAT(checked->check.damaged, SizeIs(1));
  EXPECT_THAT(checked->check.foreign, IsEmpty());
  EXPECT_TRUE(std::filesystem::exists(RecordOf("signatures", file.hash + ".sig")));
}

}  // namespace
}  // namespace cohost::supervisor
