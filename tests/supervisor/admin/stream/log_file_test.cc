// SPDX-License-Identifier: Apache-2.0
#include "supervisor/admin/stream/log_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/temporary_folder.h"

namespace cohost::supervisor {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class LogFileTest : public ::testing::Test {
 protected:
  void Append(const std::string& text) { std::ofstream(path_, std::ios::app) << text; }
  void Rotate() { ASSERT_EQ(std::rename(path_.c_str(), (path_ + ".1").c_str()), 0); }

  testing::TemporaryFolder folder_;
  const std::string path_ = folder_ / "worker.log";
};

TEST_F(LogFileTest, GivesCompleteLinesAsTheyCome) {
  LogFile file(path_, LogFile::From::kStart);
  EXPECT_THAT(file.Read(10), IsEmpty()) << "it is not there yet";
  Append("one\ntw");
  EXPECT_THAT(file.Read(10), ElementsAre("one"));
  Append("o\n\nthree\n");
  EXPECT_THAT(file.Read(10), ElementsAre("two", "", "three"));
  EXPECT_THAT(file.Read(10), IsEmpty());
}

TEST_F(LogFileTest, BeginsAtTheEndOrBeforeIt) {
  Append("old\n");
  LogFile end(path_, LogFile::From::kEnd);
  LogFile tail(path_, LogFile::From::kTail);
  EXPECT_THAT(end.Read(10), IsEmpty());
  EXPECT_THAT(tail.Read(10), ElementsAre("old"));
  Append("new\n");
  EXPECT_THAT(end.Read(10), ElementsAre("new"));
}

TEST_F(LogFileTest, TheTailOfALongFileBeginsWithAWholeLine) {
  std::string text;
  for (int i = 0; text.size() < 2 * LogFile::kTail; ++i) text += "line " + std::to_string(i) + "\n";
  Append(text);
  LogFile file(path_, LogFile::From::kTail);
  const auto lines = file.Read(1 << 20);
  size_t size = 0;
  for (const std::string& line : lines) {
    ASSERT_EQ(line.rfind("line ", 0), 0u);
    size += line.size() + 1;
  }
  EXPECT_LE(size, LogFile::kTail);
  EXPECT_GT(size, LogFile::kTail - 100);
}

TEST_F(LogFileTest, ReadsTheOldFileToItsEndAndThenTheNewOne) {
  Append("one\n");
  LogFile file(path_, LogFile::From::kStart);
  EXPECT_THAT(file.Read(10), ElementsAre("one"));
  Append("two\nunfinished");
  Rotate();
  EXPECT_THAT(file.Read(10), ElementsAre("two")) << "without a new file the old one may grow";
  Append("three\n");
  EXPECT_THAT(file.Read(10), ElementsAre("unfinished", "three"));
}

TEST_F(LogFileTest, AFileThatWasCutIsReadFromItsStart) {
  Append("a long first line\n");
  LogFile file(path_, LogFile::From::kStart);
  EXPECT_THAT(file.Read(10), ElementsAre("a long first line"));
  ASSERT_EQ(::truncate(path_.c_str(), 0), 0);
  Append("new\n");
  EXPECT_THAT(file.Read(10), ElementsAre("new"));
}

TEST_F(LogFileTest, ALineWithoutAnEndCostsBoundedMemoryAndIsCut) {
  LogFile file(path_, LogFile::From::kStart);
  Append(std::string(10 * LogFile::kLongestLine, 'x'));
  EXPECT_THAT(file.Read(10), IsEmpty());
  Append("\nnext\n");
  const auto lines = file.Read(10);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].size(), LogFile::kLongestLine);
  EXPECT_EQ(lines[1], "next");
}

TEST_F(LogFileTest, WhatIsNoRegularFileIsNotOpened) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  LogFile pipe(path_, LogFile::From::kStart);
  EXPECT_THAT(pipe.Read(10), IsEmpty());
  ASSERT_EQ(::symlink("/etc/passwd", (folder_ / "link").c_str()), 0);
  LogFile link(folder_ / "link", LogFile::From::kStart);
  EXPECT_THAT(link.Read(10), IsEmpty());
}

}  // namespace
}  // namespace cohost::supervisor
