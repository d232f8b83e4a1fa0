// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/source_index.h"

#include <string>

#include "gtest/gtest.h"

namespace cohost::supervisor {
namespace {

const std::string kHash(64, 'a');
const FileStamp kStamp{1, 2, 3, -4, 5};

SourceIndex::Entry ModuleEntry() { return {kStamp, kHash, StoredKind::kModule}; }

TEST(SourceIndex, FindsOnlyTheVeryState) {
  SourceIndex index;
  EXPECT_TRUE(index.Remember("/a b.so", ModuleEntry()));
  EXPECT_FALSE(index.Remember("/a b.so", ModuleEntry()));
  EXPECT_EQ(index.Find("/a b.so", StoredKind::kModule, kStamp), kHash);
  EXPECT_EQ(index.Find("/a b.so", StoredKind::kDataImage, kStamp), std::nullopt);
  EXPECT_EQ(index.Find("/other.so", StoredKind::kModule, kStamp), std::nullopt);
  for (int field = 0; field < 5; ++field) {
    FileStamp other = kStamp;
    (field == 0 ? other.device : field == 1 ? other.inode : other.size) += field < 3 ? 1 : 0;
    (field == 3 ? other.modified_ns : other.changed_ns) += field >= 3 ? 1 : 0;
    EXPECT_EQ(index.Find("/a b.so", StoredKind::kModule, other), std::nullopt) << field;
  }
}

TEST(SourceIndex, ReadsWhatItWrites) {
  SourceIndex index;
  index.Remember("/with space and \xff.so", ModuleEntry());
  index.Remember("/b.img", {kStamp, std::string(64, 'b'), StoredKind::kDataImage});
  size_t skipped = 9;
  const SourceIndex read = SourceIndex::Parse(index.Format(), &skipped);
  EXPECT_EQ(skipped, 0u);
  EXPECT_EQ(read.Find("/with space and \xff.so", StoredKind::kModule, kStamp), kHash);
  EXPECT_EQ(read.Find("/b.img", StoredKind::kDataImage, kStamp), std::string(64, 'b'));
  EXPECT_EQ(read.Format(), index.Format());
  EXPECT_EQ(read.SourcesByHash().at(kHash), "/with space and \xff.so");
  EXPECT_FALSE(read.SourcesByHash().contains("x"));
}

TEST(SourceIndex, APathThatIsNoLineIsNotWritten) {
  SourceIndex index;
  index.Remember("/two\nlines", ModuleEntry());
  EXPECT_EQ(index.Format(), "cohost-sources 1\n");
}

TEST(SourceIndex, SkipsLinesThatMakeNoSense) {
  const std::string good = kHash + " module 1 2 3 -4 5 /good.so\n";
  size_t skipped = 0;
  const SourceIndex index = SourceIndex::Parse(
      "cohost-sources 1\n" + good + "half a li\n" + kHash + " module 1 2 3 4 5 relative\n" + kHash +
          " folder 1 2 3 4 5 /a\n" + kHash + " module -1 2 3 4 5 /a\n" + kHash.substr(1) +
          " module 1 2 3 4 5 /a\n" + std::string(100, '\0') + "\n",
      &skipped);
  EXPECT_EQ(skipped, 6u);
  EXPECT_EQ(index.Format(), "cohost-sources 1\n" + good);
}

TEST(SourceIndex, AnotherFormatIsAnEmptyIndex) {
  size_t skipped = 0;
  EXPECT_EQ(SourceIndex::Parse("cohost-sources 2\nx\n", &skipped).Format(), "cohost-sources 1\n");
  EXPECT_EQ(skipped, 1u);
  EXPECT_EQ(SourceIndex::Parse("", &skipped).Format(), "cohost-sources 1\n");
  EXPECT_EQ(skipped, 0u);
}

}  // namespace
}  // namespace cohost::supervisor
