// SPDX-License-Identifier: Apache-2.0
#include "supervisor/ctl/exchange/archive/tar_writer.h"

#include <fcntl.h>

#include <array>
#include <cstdio>
#include <string>

#include "base/system/file.h"
#include "gtest/gtest.h"
#include "tests/support/temporary_folder.h"

namespace cohost::supervisor {
namespace {

using cohost::testing::TemporaryFolder;

class TarWriterTest : public ::testing::Test {
 protected:
  TarWriterTest()
      : fd_(*OpenFile(folder_ / "a.tar", O_RDWR | O_CREAT, 0600)),
        tar_(fd_.get(), absl::FromUnixSeconds(1'767'323'045)) {}

  // What the system's tar prints.
  std::string Tar(const std::string& options) const {
    const std::string command =
        "LC_ALL=C TZ=UTC tar " + options + " -f " + (folder_ / "a.tar") + " 2>&1";
    FILE* pipe = popen(command.c_str(), "r");
    std::string text;
    std::array<char, 4096> buffer{};
    for (size_t got = 0; (got = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
      text.append(buffer.data(), got);
    }
    EXPECT_EQ(pclose(pipe), 0) << text;
    return text;
  }

  const TemporaryFolder folder_;
  const UniqueFd fd_;
  TarWriter tar_;
};

TEST_F(TarWriterTest, EveryTarReadsIt) {
  ASSERT_TRUE(tar_.Add("first", "one").ok());
  ASSERT_TRUE(tar_.Add("empty", "").ok());
  ASSERT_TRUE(tar_.Add(std::string(100, 'n'), std::string(1024, 'x')).ok());
  ASSERT_TRUE(tar_.Finish().ok());
  EXPECT_EQ(Tar("-tv --numeric-owner"),
            "-rw-r--r-- 0/0               3 2026-01-02 03:04 first\n"
            "-rw-r--r-- 0/0               0 2026-01-02 03:04 empty\n"
            "-rw-r--r-- 0/0            1024 2026-01-02 03:04 " +
                std::string(100, 'n') + "\n");
  EXPECT_EQ(Tar("-xO first"), "one");
}

TEST_F(TarWriterTest, ContentComesInPartsAndMustBeAsLongAsWasSaid) {
  ASSERT_TRUE(tar_.Begin("a", 6).ok());
  ASSERT_TRUE(tar_.Write("abc").ok());
  EXPECT_EQ(tar_.Begin("b", 1).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(tar_.Finish().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(tar_.Write("defg").code(), absl::StatusCode::kOutOfRange);
  ASSERT_TRUE(tar_.Write("def").ok());
  ASSERT_TRUE(tar_.Finish().ok());
  EXPECT_EQ(Tar("-xO a"), "abcdef");
}

TEST_F(TarWriterTest, RefusesWhatTheFormatCannotSay) {
  EXPECT_EQ(tar_.Begin(std::string(101, 'n'), 1).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(tar_.Begin("", 1).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(tar_.Begin("a", uint64_t{8} << 30).code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace cohost::supervisor
