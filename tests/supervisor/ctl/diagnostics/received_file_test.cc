// SPDX-License-Identifier: Apache-2.0
#include "supervisor/ctl/diagnostics/received_file.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "base/system/file.h"
#include "gtest/gtest.h"
#include "tests/support/temporary_folder.h"

namespace cohost::supervisor {
namespace {

class ReceivedFileTest : public ::testing::Test {
 protected:
  std::string path() const { return folder_ / "orders.dmp"; }
  bool IsEmpty() const { return std::filesystem::is_empty(folder_.path()); }

  testing::TemporaryFolder folder_;
};

TEST_F(ReceivedFileTest, HasItsNameOnceItIsWholeAndIsNobodyElses) {
  auto file = ReceivedFile::Create(path());
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_TRUE(file->Write("half").ok());
  EXPECT_FALSE(std::filesystem::exists(path()));
  ASSERT_TRUE(file->Write(" and half").ok());
  ASSERT_TRUE(file->Finish().ok());
  EXPECT_EQ(*ReadRegularFile(path(), KiB(1)), "half and half");
  EXPECT_EQ(file->size().count, 13u);
  struct stat info {};
  ASSERT_EQ(::stat(path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(ReceivedFileTest, LeavesNothingWhenItIsNotFinished) {
  {
    auto file = ReceivedFile::Create(path());
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file->Write("half").ok());
    EXPECT_FALSE(IsEmpty());
  }
  EXPECT_TRUE(IsEmpty());
}

TEST_F(ReceivedFileTest, LeavesNothingWhenTheProcessIsInterrupted) {
  const pid_t child = ::fork();
  if (child == 0) {
    auto file = ReceivedFile::Create(path());
    (void)::raise(SIGINT);
    ::_exit(file.ok() ? 1 : 2);
  }
  ASSERT_GT(child, 0);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGINT);
  EXPECT_TRUE(IsEmpty());
}

TEST_F(ReceivedFileTest, AFolderThatIsNotThereIsSaid) {
  EXPECT_TRUE(absl::IsNotFound(ReceivedFile::Create(folder_ / "no/where").status()));
}

}  // namespace
}  // namespace cohost::supervisor
