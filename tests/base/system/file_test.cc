// SPDX-License-Identifier: Apache-2.0
#include "base/system/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <limits>

#include "gtest/gtest.h"
#include "tests/support/temporary_folder.h"

namespace cohost {
namespace {

class File : public ::testing::Test {
 protected:
  size_t EntriesInFolder() const {
    const std::filesystem::directory_iterator begin(folder_.path());
    return static_cast<size_t>(std::distance(begin, std::filesystem::directory_iterator()));
  }
  testing::TemporaryFolder folder_;
};

TEST_F(File, OpenNamesCallAndPath) {
  const auto fd = OpenFile(folder_ / "none", O_RDONLY);
  EXPECT_EQ(fd.status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(fd.status().message(), "open '" + (folder_ / "none") + "': No such file or directory");
}

TEST_F(File, OpenedDescriptorsAreCloseOnExec) {
  const auto fd = OpenFile("/dev/null", O_RDWR);
  ASSERT_TRUE(fd.ok());
  EXPECT_EQ(fcntl(fd->get(), F_GETFD), FD_CLOEXEC);
}

TEST_F(File, WritesAndReadsBack) {
  const std::string content = std::string("a\0b", 3) + std::string(100'000, 'x');
  ASSERT_TRUE(WriteFileAtomically(folder_ / "f", content, 0640).ok());
  EXPECT_EQ(*ReadRegularFile(folder_ / "f", KiB(100)), content);
  struct stat info {};
  ASSERT_EQ(stat((folder_ / "f").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, mode_t{0640});
  EXPECT_EQ(EntriesInFolder(), 1u);
}

TEST_F(File, ReplacingGivesANewFileSoThatOldReadersKeepTheirs) {
  ASSERT_TRUE(WriteFileAtomically(folder_ / "f", "old", 0600).ok());
  const auto reader = OpenFile(folder_ / "f", O_RDONLY);
  ASSERT_TRUE(WriteFileAtomically(folder_ / "f", "new", 0600).ok());
  char text[8] = {};
  EXPECT_EQ(pread(reader->get(), text, sizeof(text), 0), 3);
  EXPECT_STREQ(text, "old");
  EXPECT_EQ(*ReadRegularFile(folder_ / "f", KiB(1)), "new");
}

TEST_F(File, FailedReplacementLeavesNothingBehind) {
  ASSERT_TRUE(MakeFolders(folder_ / "f/inside", 0700).ok());
  EXPECT_FALSE(WriteFileAtomically(folder_ / "f", "new", 0600).ok());
  EXPECT_EQ(EntriesInFolder(), 1u);
}

TEST_F(File, ReadsAtAnOffsetUpToTheEndOfTheFile) {
  ASSERT_TRUE(WriteFileAtomically(folder_ / "f", "0123456789", 0600).ok());
  const auto fd = OpenFile(folder_ / "f", O_RDONLY);
  ASSERT_TRUE(fd.ok());
  std::string text(4, '.');
  EXPECT_EQ(*ReadAt(fd->get(), 3, text.data(), text.size()), 4u);
  EXPECT_EQ(text, "3456");
  EXPECT_EQ(*ReadAt(fd->get(), 8, text.data(), text.size()), 2u);
  EXPECT_EQ(text, "8956");
  EXPECT_EQ(*ReadAt(fd->get(), 10, text.data(), text.size()), 0u);
  EXPECT_EQ(*ReadAt(fd->get(), 3, text.data(), 0), 0u);
}

TEST_F(File, NothingIsReadAtOffsetsThatNoFileHas) {
  ASSERT_TRUE(WriteFileAtomically(folder_ / "f", "0123456789", 0600).ok());
  const auto fd = OpenFile(folder_ / "f", O_RDONLY);
  ASSERT_TRUE(fd.ok());
  char text[4] = {};
  for (const uint64_t offset : {uint64_t{1} << 40, (uint64_t{1} << 63) - 2, uint64_t{1} << 63,
                                std::numeric_limits<uint64_t>::max()}) {
    const auto got = ReadAt(fd->get(), offset, text, sizeof(text));
    ASSERT_TRUE(got.ok()) << offset << " " << got.status();
    EXPECT_EQ(*got, 0u) << offset;
  }
}

TEST_F(File, ReadingAtAnOffsetNeedsADescriptorThatCanSeek) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd reader(ends[0]);
  const UniqueFd writer(ends[1]);
  char text[4] = {};
  EXPECT_FALSE(ReadAt(reader.get(), 0, text, sizeof(text)).ok());
}

TEST_F(File, ReadHasALimit) {
  ASSERT_TRUE(WriteFileAtomically(folder_ / "f", std::string(1024, 'x'), 0600).ok());
  EXPECT_TRUE(ReadRegularFile(folder_ / "f", KiB(1)).ok());
  EXPECT_EQ(ReadRegularFile(folder_ / "f", Bytes{1023}).status().code(),
            absl::StatusCode::kResourceExhausted);
}

TEST_F(File, ReadRefusesWhatIsNoRegularFileAndDoesNotWaitForIt) {
  ASSERT_EQ(mkfifo((folder_ / "fifo").c_str(), 0600), 0);
  EXPECT_EQ(ReadRegularFile(folder_ / "fifo", KiB(1)).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_FALSE(ReadRegularFile(folder_.path(), KiB(1)).ok());
  EXPECT_FALSE(ReadRegularFile("/dev/zero", KiB(1)).ok());
}

TEST_F(File, ReadsFilesThatSayTheyAreEmpty) {
  const auto status = ReadRegularFile("/proc/self/status", KiB(64));
  ASSERT_TRUE(status.ok());
  EXPECT_NE(status->find("Pid:"), std::string::npos);
}

TEST_F(File, MakesFoldersAndKeepsExistingOnes) {
  EXPECT_TRUE(MakeFolders(folder_ / "a/b/c", 0700).ok());
  EXPECT_TRUE(MakeFolders(folder_ / "a/b/c", 0755).ok());
  struct stat info {};
  ASSERT_EQ(stat((folder_ / "a/b").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, mode_t{0700});
  ASSERT_TRUE(WriteFileAtomically(folder_ / "file", "", 0600).ok());
  EXPECT_FALSE(MakeFolders(folder_ / "file/below", 0700).ok());
  EXPECT_FALSE(MakeFolders(folder_ / "file", 0700).ok());
}

TEST_F(File, WriteAllReportsTheReason) {
  const auto fd = OpenFile("/dev/full", O_WRONLY);
  ASSERT_TRUE(fd.ok());
  EXPECT_FALSE(WriteAll(fd->get(), "x").ok());
}

}  // namespace
}  // namespace cohost
