// SPDX-License-Identifier: Apache-2.0
#include "supervisor/ctl/exchange/archive/tar_reader.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/system/file.h"
#include "gtest/gtest.h"
#include "supervisor/ctl/exchange/archive/tar_writer.h"
#include "tests/support/temporary_folder.h"

namespace cohost::supervisor {
namespace {

using cohost::testing::TemporaryFolder;

class TarReaderTest : public ::testing::Test {
 protected:
  // What the system's tar makes of these arguments, inside the folder.
  UniqueFd Make(const std::string& arguments) {
    const std::string command =
        "cd " + folder_.path() + " && tar -cf a.tar " + arguments + " 2>/dev/null";
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
    return *OpenFile(folder_ / "a.tar", O_RDONLY);
  }
  void Write(const std::string& name, const std::string& content) {
    ASSERT_TRUE(WriteFileAtomically(folder_ / name, content, 0644).ok());
  }
  static absl::StatusCode NextOf(const UniqueFd& fd) {
    auto reader = TarReader::Open(fd.get());
    return reader.ok() ? reader->Next().status().code() : reader.status().code();
  }

  const TemporaryFolder folder_;
};

TEST_F(TarReaderTest, ReadsWhatTarWrites) {
  Write("a", "content of a");
  Write("b", std::string(700'000, 'b'));
  for (const char* format : {"ustar", "gnu", "pax"}) {
    const UniqueFd fd = Make(std::string("--format=") + format + " a b");
    auto reader = TarReader::Open(fd.get());
    ASSERT_TRUE(reader.ok()) << reader.status();
    for (const std::string name : {"a", "b"}) {
      const auto entry = reader->Next();
      ASSERT_TRUE(entry.ok()) << entry.status();
      EXPECT_EQ((*entry)->name, name);
      std::string content;
      ASSERT_TRUE(reader
                      ->Read([&](std::string_view bytes) {
                        content.append(bytes);
                        return absl::OkStatus();
                      })
                      .ok());
      EXPECT_EQ(content.size(), (*entry)->size);
      EXPECT_EQ(content, *ReadRegularFile(folder_ / name, MiB(1)));
    }
    const auto end = reader->Next();
    ASSERT_TRUE(end.ok());
    EXPECT_FALSE(end->has_value());
  }
}

TEST_F(TarReaderTest, RefusesEverythingButPlainFiles) {
  Write("a", "content");
  std::filesystem::create_symlink("/etc/passwd", folder_ / "link");
  std::filesystem::create_directory(folder_ / "folder");
  EXPECT_EQ(NextOf(Make("link")), absl::StatusCode::kDataLoss);
  EXPECT_EQ(NextOf(Make("folder")), absl::StatusCode::kDataLoss);
  ASSERT_EQ(std::system(("truncate -s 1M " + (folder_ / "hole")).c_str()), 0);
  EXPECT_EQ(NextOf(Make("--sparse hole")), absl::StatusCode::kDataLoss);
  std::filesystem::create_hard_link(folder_ / "a", folder_ / "b");
  const UniqueFd fd = Make("a b");
  auto reader = TarReader::Open(fd.get());
  ASSERT_TRUE(reader->Next().ok());
  EXPECT_EQ(reader->Next().status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(TarReaderTest, OtherFormatsAndFiltersAreNoArchives) {
  Write("a", "content");
  EXPECT_EQ(NextOf(Make("-z a")), absl::StatusCode::kDataLoss);
  Write("a.tar", "just a text that is no archive\n" + std::string(2'000, 'x'));
  EXPECT_EQ(NextOf(*OpenFile(folder_ / "a.tar", O_RDONLY)), absl::StatusCode::kDataLoss);
}

TEST_F(TarReaderTest, AnEmptyFileHasNothingInIt) {
  Write("a.tar", "");
  const UniqueFd fd = *OpenFile(folder_ / "a.tar", O_RDONLY);
  auto reader = TarReader::Open(fd.get());
  if (!reader.ok()) return;
  const auto entry = reader->Next();
  EXPECT_TRUE(!entry.ok() || !entry->has_value());
}

TEST_F(TarReaderTest, AnErrorOfTheTakerEndsTheReading) {
  Write("a", std::string(700'000, 'a'));
  const UniqueFd fd = Make("a");
  auto reader = TarReader::Open(fd.get());
  ASSERT_TRUE(reader->Next().ok());
  int calls = 0;
  const absl::Status read = reader->Read([&](std::string_view) {
    ++calls;
    return absl::ResourceExhaustedError("full");
  });
  EXPECT_EQ(read.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(calls, 1);
}

TEST_F(TarReaderTest, PipesCannotBeReadTwiceAndAreRefused) {
  int pipes[2];
  ASSERT_EQ(pipe(pipes), 0);
  const UniqueFd reader(pipes[0]);
  const UniqueFd writer(pipes[1]);
  EXPECT_FALSE(TarReader::Open(reader.get()).ok());
}

}  // namespace
}  // namespace cohost::supervisor
