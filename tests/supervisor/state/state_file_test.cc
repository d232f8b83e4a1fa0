// SPDX-License-Identifier: Apache-2.0
#include "supervisor/state/state_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <random>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "supervisor/state/sqlite.h"
#include "tests/supervisor/state/state_folder.h"

namespace cohost::supervisor {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Opens, and checks that the old file was set aside with one message and that the new one works.
OpenedDatabase ExpectSetAside(const StateFolder& folder) {
  OpenedDatabase opened = OpenStateFile(folder.path());
  EXPECT_NE(opened.database, nullptr);
  EXPECT_THAT(opened.notices, SizeIs(1));
  EXPECT_THAT(opened.notices.at(0), HasSubstr("was set aside as"));
  EXPECT_THAT(folder.SetAside(), SizeIs(1));
  EXPECT_THAT(opened.snapshot.operator_stops, IsEmpty());
  EXPECT_TRUE(WriteSnapshot(*opened.database, opened.snapshot).ok());
  return opened;
}

void WriteGoodFile(const StateFolder& folder) {
  OpenedDatabase opened = OpenStateFile(folder.path());
  ASSERT_THAT(opened.notices, IsEmpty());
  for (int i = 0; i < 500; ++i) {
    opened.snapshot.operator_stops["service-" + std::to_string(i)] = {};
  }
  ASSERT_TRUE(WriteSnapshot(*opened.database, opened.snapshot).ok());
}

TEST(StateFile, AFirstStartMakesAPrivateFileWithoutNotices) {
  const StateFolder folder;
  const OpenedDatabase opened = OpenStateFile(folder.path());
  EXPECT_THAT(opened.notices, IsEmpty());
  EXPECT_THAT(opened.snapshot.instance, SizeIs(32));
  EXPECT_EQ(opened.snapshot.next_event_id, 1u);
  EXPECT_EQ(opened.snapshot.service_ids.next, 1u);
  struct stat status;
  ASSERT_EQ(::stat(folder.path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST(StateFile, KeepsItsInstance) {
  const StateFolder folder;
  const std::string instance = OpenStateFile(folder.path()).snapshot.instance;
  EXPECT_EQ(OpenStateFile(folder.path()).snapshot.instance, instance);
}

TEST(StateFile, Sta02SetsAsideAnEmptyFile) {
  const StateFolder folder;
  folder.Write("");
  ExpectSetAside(folder);
  EXPECT_EQ(std::filesystem::file_size(folder.SetAside()[0]), 0u);
}

TEST(StateFile, Sta02SetsAsideZerosAndRandomBytesUnchanged) {
  std::mt19937 random(1);
  std::string noise(100'000, '\0');
  for (char& byte : noise) byte = static_cast<char>(random());
  for (const std::string& content : {std::string(100'000, '\0'), noise, std::string("{}")}) {
    const StateFolder folder;
    folder.Write(content);
    ExpectSetAside(folder);
    const std::string aside = folder.SetAside()[0];
    EXPECT_EQ(folder.Read(aside.substr(folder.path().size())), content);
  }
}

TEST(StateFile, Sta02SetsAsideEveryHalfOfAGoodFile) {
  const StateFolder good;
  WriteGoodFile(good);
  const std::string content = good.Read();
  for (const size_t length : {size_t{1}, size_t{100}, size_t{4096}, content.size() / 2,
                              content.size() - 1, content.size() - 4096}) {
    const StateFolder folder;
    folder.Write(content.substr(0, length));
    SCOPED_TRACE(length);
    ExpectSetAside(folder);
  }
}

TEST(StateFile, Sta02AlwaysStartsFromDamagedPages) {
  const StateFolder good;
  WriteGoodFile(good);
  const std::string content = good.Read();
  std::mt19937 random(2);
  size_t set_aside = 0;
  for (int round = 0; round < 40; ++round) {
    std::string damaged = content;
    const size_t at = random() % damaged.size();
    for (size_t i = at; i < std::min(at + 3000, damaged.size()); ++i) {
      damaged[i] = static_cast<char>(random());
    }
    const StateFolder folder;
    folder.Write(damaged);
    const OpenedDatabase opened = OpenStateFile(folder.path());
    ASSERT_NE(opened.database, nullptr);
    EXPECT_EQ(opened.notices.size(), folder.SetAside().size());
    set_aside += folder.SetAside().size();
  }
  EXPECT_GT(set_aside, 5u);
}

TEST(StateFile, Sta02SetsAsideAFolderAndAPipe) {
  const StateFolder folder;
  std::filesystem::create_directory(folder.path());
  std::filesystem::create_directory(folder.path() + "/content");
  ExpectSetAside(folder);
  EXPECT_TRUE(std::filesystem::exists(folder.SetAside()[0] + "/content"));
  const StateFolder other;
  ASSERT_EQ(::mkfifo(other.path().c_str(), 0600), 0);
  ExpectSetAside(other);
}

TEST(StateFile, Sta02SetsAsideAGigabyteWithoutReadingIt) {
  const StateFolder folder;
  folder.Write("");
  ASSERT_EQ(::truncate(folder.path().c_str(), 1 << 30), 0);
  ExpectSetAside(folder);
}

TEST(StateFile, Sta02SetsAsideANewerVersionAndSaysSo) {
  const StateFolder folder;
  WriteGoodFile(folder);
  ASSERT_TRUE(Sqlite::Open(folder.path())
                  ->Script("UPDATE meta SET value = 2 WHERE key IN ('schema', 'min_reader')")
                  .ok());
  const OpenedDatabase opened = ExpectSetAside(folder);
  EXPECT_THAT(opened.notices[0], HasSubstr("it is of version 2"));
}

TEST(StateFile, Sta02RemovesALeftoverTemporaryFile) {
  const StateFolder folder;
  folder.Write("half of a new one", ".new");
  const OpenedDatabase opened = OpenStateFile(folder.path());
  EXPECT_THAT(opened.notices, IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(folder.path() + ".new"));
  EXPECT_TRUE(std::filesystem::exists(folder.path()));
}

TEST(StateFile, NumbersAfterALossDoNotMeetTheLostOnes) {
  const StateFolder folder;
  folder.Write("damaged");
  const OpenedDatabase opened = ExpectSetAside(folder);
  EXPECT_GT(opened.snapshot.next_event_id, 1'000'000'000'000u);
  EXPECT_GT(opened.snapshot.service_ids.next, 1'000'000'000'000u);
}

TEST(StateFile, SettingAsideTwiceInOneSecondKeepsBoth) {
  const StateFolder folder;
  folder.Write("first");
  OpenStateFile(folder.path());
  std::filesystem::remove(folder.path());
  folder.Write("second");
  OpenStateFile(folder.path());
  EXPECT_THAT(folder.SetAside(), SizeIs(2));
}

TEST(StateFile, WithoutAFolderItLivesInMemoryAndSaysSo) {
  const StateFolder folder;
  OpenedDatabase opened = OpenStateFile(folder.folder() + "/missing/state.db");
  ASSERT_NE(opened.database, nullptr);
  ASSERT_THAT(opened.notices, SizeIs(1));
  EXPECT_THAT(opened.notices[0], HasSubstr("are lost when the supervisor ends"));
  EXPECT_TRUE(WriteSnapshot(*opened.database, opened.snapshot).ok());
}

}  // namespace
}  // namespace cohost::supervisor
