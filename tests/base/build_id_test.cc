// SPDX-License-Identifier: Apache-2.0
#include "base/build_id.h"

#include <elf.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <fstream>
#include <string>

#include "gtest/gtest.h"
#include "tests/support/temporary_folder.h"

namespace cohost {
namespace {

TEST(BuildId, IsThatOfThisExecutable) {
  const std::string id = BuildId();
  EXPECT_EQ(id.size(), 32U) << id;
  EXPECT_TRUE(std::all_of(id.begin(), id.end(), [](unsigned char c) {
    return std::isdigit(c) != 0 || (c >= 'a' && c <= 'f');
  })) << id;
  EXPECT_EQ(BuildId(), id);
}

TEST(BuildId, OfAFileIsWhatItSaysWhenItRuns) {
  const absl::StatusOr<std::string> id = BuildIdOfFile("/proc/self/exe");
  ASSERT_TRUE(id.ok()) << id.status();
  EXPECT_EQ(*id, BuildId());
}

TEST(BuildId, OfAFileThatIsNoProgramIsAnError) {
  const testing::TemporaryFolder folder;
  const std::string path = folder / "file";
  std::string whole;
  {
    std::ifstream self("/proc/self/exe", std::ios::binary);
    whole.resize(16 * 1024);
    ASSERT_TRUE(self.read(whole.data(), static_cast<std::streamsize>(whole.size())));
  }
  for (const size_t size : {size_t{0}, size_t{10}, size_t{64}, size_t{100}}) {
    std::ofstream(path, std::ios::binary) << whole.substr(0, size);
    EXPECT_TRUE(absl::IsInvalidArgument(BuildIdOfFile(path).status())) << size;
  }
  // Headers far beyond its end.
  std::string hostile = whole;
  hostile.replace(offsetof(Elf64_Ehdr, e_phoff), 8, std::string(8, '\x7f'));
  std::ofstream(path, std::ios::binary) << hostile;
  EXPECT_FALSE(BuildIdOfFile(path).ok());
  std::ofstream(path, std::ios::binary) << std::string(4096, 'x');
  EXPECT_TRUE(absl::IsInvalidArgument(BuildIdOfFile(path).status()));
  EXPECT_TRUE(absl::IsNotFound(BuildIdOfFile(folder / "none").status()));
}

}  // namespace
}  // namespace cohost
