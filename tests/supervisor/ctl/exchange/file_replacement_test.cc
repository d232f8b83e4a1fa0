// SPDX-License-Identifier: Apache-2.0
#include "supervisor/ctl/exchange/file_replacement.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/system/file.h"
#include "gtest/gtest.h"
#include "tests/support/temporary_folder.h"

namespace cohost::supervisor {
namespace {

using cohost::testing::TemporaryFolder;

const absl::Time kTime = absl::FromUnixSeconds(1'767'323'045);

class FileReplacementTest : public ::testing::Test {
 protected:
  FileReplacementTest() {
    std::ofstream(path_) << "old";
    EXPECT_EQ(chmod(path_.c_str(), 0640), 0);
  }
  static std::string Content(const std::string& path) {
    return ReadRegularFile(path, MiB(1)).value_or("unreadable");
  }
  size_t Files() const {
    const auto all = std::filesystem::directory_iterator(folder_.path());
    return static_cast<size_t>(std::distance(begin(all), end(all)));
  }
  static struct stat StatOf(const std::string& path) {
    struct stat info {};
    EXPECT_EQ(lstat(path.c_str(), &info), 0);
    return info;
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_ / "cohost.yaml";
};

TEST_F(FileReplacementTest, TheOldFileIsKeptBesideWithTheTimeInItsName) {
  const auto replaced = FileReplacement::Replace(path_, "old", "new", kTime);
  ASSERT_TRUE(replaced.ok()) << replaced.status();
  EXPECT_EQ(replaced->kept(), path_ + ".before-import-20260102T030405Z");
  EXPECT_EQ(Content(path_), "new");
  EXPECT_EQ(Content(replaced->kept()), "old");
  EXPECT_EQ(StatOf(path_).st_mode & 07777, 0640u);
}

TEST_F(FileReplacementTest, PuttingBackGivesTheVerySameFile) {
  const ino_t before = StatOf(path_).st_ino;
  auto replaced = FileReplacement::Replace(path_, "old", "new", kTime);
  ASSERT_TRUE(replaced.ok()) << replaced.status();
  ASSERT_TRUE(replaced->PutBack().ok());
  EXPECT_EQ(Content(path_), "old");
  EXPECT_EQ(StatOf(path_).st_ino, before);
  EXPECT_EQ(Files(), 1u);
}

TEST_F(FileReplacementTest, TwoWithinOneSecondKeepBoth) {
  const auto first = FileReplacement::Replace(path_, "old", "new", kTime);
  const auto second = FileReplacement::Replace(path_, "new", "newer", kTime);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(Content(first->kept()), "old");
  EXPECT_EQ(Content(second->kept()), "new");
}

TEST_F(FileReplacementTest, AFileThatSomebodyHasEditedMeanwhileIsLeft) {
  const auto replaced = FileReplacement::Replace(path_, "older", "new", kTime);
  EXPECT_EQ(replaced.status().code(), absl::StatusCode::kAborted);
  EXPECT_EQ(Content(path_), "old");
  EXPECT_EQ(Files(), 1u);
}

TEST_F(FileReplacementTest, ASymbolicLinkIsReplacedAndPutBackAsOne) {
  const std::string link = folder_ / "link.yaml";
  std::filesystem::create_symlink("cohost.yaml", link);
  auto replaced = FileReplacement::Replace(link, "old", "new", kTime);
  ASSERT_TRUE(replaced.ok()) << replaced.status();
  EXPECT_EQ(Content(link), "new");
  EXPECT_EQ(Content(path_), "old");
  ASSERT_TRUE(replaced->PutBack().ok());
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(Content(link), "old");
}

TEST_F(FileReplacementTest, AFileThatIsNotThereIsAnError) {
  EXPECT_EQ(FileReplacement::Replace(folder_ / "none", "", "new", kTime).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(Files(), 1u);
}

}  // namespace
}  // namespace cohost::supervisor
