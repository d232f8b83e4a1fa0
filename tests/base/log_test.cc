// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include "base/system/unique_fd.h"
#include "gtest/gtest.h"

namespace cohost {
namespace {

class LogTest : public ::testing::Test {
 protected:
  void SetUp() override {
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
    read_end_.Reset(ends[0]);
    write_end_.Reset(ends[1]);
    ASSERT_EQ(fcntl(read_end_.get(), F_SETFL, O_NONBLOCK), 0);
  }
  // Everything that was written so far.
  std::string Read() {
    std::string text;
    std::string chunk(65536, '\0');
    ssize_t got = 0;
    while ((got = read(read_end_.get(), chunk.data(), chunk.size())) > 0) {
      text.append(chunk, 0, static_cast<size_t>(got));
    }
    return text;
  }
  // Without the time, which differs.
  std::string ReadAfterTime() {
    const std::string text = Read();
    const size_t comma = text.find(',');
    return comma == std::string::npos ? text : text.substr(comma + 1);
  }
  UniqueFd read_end_;
  UniqueFd write_end_;
};

TEST_F(LogTest, WritesOneObjectALine) {
  Log log(write_end_.get(), "pool");
  log.Info("worker ready",
           {{"group", "steady-1"}, {"slot", int64_t{3}}, {"seconds", 0.5}, {"first", true}});
  const std::string text = Read();
  EXPECT_EQ(text.substr(0, 9), R"({"time":")");
  EXPECT_EQ(text[text.find(',') - 2], 'Z');
  EXPECT_EQ(text.substr(text.find(',') + 1),
            R"("level":"info","component":"pool","message":"worker ready",)"
            R"("group":"steady-1","slot":3,"seconds":0.5,"first":true})"
            "\n");
}

TEST_F(LogTest, LeavesOutWhatIsBelowTheLevel) {
  Log log(write_end_.get(), "pool", LogLevel::kWarning);
  log.Info("not this");
  log.Error("this");
  EXPECT_EQ(ReadAfterTime(), "\"level\":\"error\",\"component\":\"pool\",\"message\":\"this\"}\n");
}

TEST_F(LogTest, EscapesWhatJsonCannotHave) {
  Log log(write_end_.get(), "c");
  log.Info("a\"b\\c\nd\x01", {{"nan", std::nan("")}});
  EXPECT_EQ(ReadAfterTime(), R"("level":"info","component":"c","message":"a\"b\\c\nd\u0001",)"
                             R"("nan":null})"
                             "\n");
}

TEST_F(LogTest, ReplacesInvalidUtf8AndKeepsValid) {
  Log log(write_end_.get(), "c");
  // Valid: two, three and four bytes. Invalid: a lone byte, an overlong form, a surrogate, a cut
  // one.
  log.Info("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80|\xff|\xc0\xaf|\xed\xa0\x80|\xe2\x82");
  EXPECT_EQ(
      ReadAfterTime(),
      "\"level\":\"info\",\"component\":\"c\",\"message\":\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"
      "|\xef\xbf\xbd|\xef\xbf\xbd\xef\xbf\xbd|\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
      "|\xef\xbf\xbd\xef\xbf\xbd\"}\n");
}

TEST_F(LogTest, CutsLinesThatAPipeWouldTear) {
  Log log(write_end_.get(), "c");
  log.Info(std::string(10'000, 'x'), {{"key", "value"}});
  const std::string text = Read();
  EXPECT_LE(text.size(), size_t{PIPE_BUF});
  EXPECT_NE(text.find("\"cut\":true}\n"), std::string::npos);
}

TEST_F(LogTest, ReaderThatDoesNotReadCostsNothingAndIsToldHowMuchItLost) {
  Log log(write_end_.get(), "c");
  // A blocking pipe of 64 KiB: without the check this would wait for ever.
  for (int i = 0; i < 1000; ++i) log.Info(std::string(500, 'x'));
  const std::string first = Read();
  const size_t lines = static_cast<size_t>(std::count(first.begin(), first.end(), '\n'));
  ASSERT_LT(lines, 1000u);
  log.Info("after");
  const std::string rest = Read();
  EXPECT_NE(rest.find("\"dropped\":" + std::to_string(1000 - lines) + "}"), std::string::npos)
      << rest;
  log.Info("once");
  EXPECT_EQ(Read().find("dropped"), std::string::npos);
}

TEST_F(LogTest, LinesOfSeveralThreadsDoNotMix) {
  Log log(write_end_.get(), "c");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&log, t] {
      for (int i = 0; i < 20; ++i) log.Info(std::string(200, static_cast<char>('a' + t)));
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::string text = Read();
  size_t begin = 0;
  size_t lines = 0;
  for (size_t end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    ++lines;
    EXPECT_EQ(text.compare(begin, 9, R"({"time":")"), 0);
    EXPECT_EQ(text[end - 1], '}');
  }
  EXPECT_EQ(lines, 80u);
}

}  // namespace
}  // namespace cohost
