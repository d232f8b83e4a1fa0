// SPDX-License-Identifier: Apache-2.0
#include "supervisor/admin/stream/log_stream.h"

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/admin.grpc.pb.h"
#include "tests/supervisor/admin/admin_fixture.h"

namespace cohost::supervisor {
namespace {

namespace v1 = admin::v1;
using ::testing::ElementsAre;

class LogStreamTest : public AdminFixture {
 protected:
  LogStreamTest() {
    host_.Change([this](HostSnapshot& host) {
      for (WorkerView& worker : host.workers) {
        worker.log_file = LogOf(worker.group, worker.slot);
      }
    });
    StartServer();
    stub_ = v1::Admin::NewStub(Connect());
  }

  std::string LogOf(const std::string& group, uint32_t slot) const {
    return folder_.path() + "/" + group + "-" + std::to_string(slot) + ".log";
  }
  static void Append(const std::string& path, const std::string& text) {
    std::ofstream(path, std::ios::app) << text;
  }
  static std::string Line(int second, const std::string& service, const std::string& message) {
    return "{\"time\":\"2026-01-01T00:00:0" + std::to_string(second) + "Z\",\"service\":\"" +
           service + "\",\"message\":\"" + message + "\"}";
  }
  std::vector<std::string> ReadAll(const v1::WatchLogsRequest& request) {
    auto context = Context();
    auto reader = stub_->WatchLogs(context.get(), request);
    std::vector<std::string> lines;
    v1::LogLine line;
    while (reader->Read(&line)) lines.push_back(line.line());
    EXPECT_TRUE(reader->Finish().ok());
    return lines;
  }

  std::unique_ptr<v1::Admin::Stub> stub_;
};

TEST_F(LogStreamTest, TellsTheLastLinesOfOneSlot) {
  Append(LogOf("front", 1), "one\ntwo\nthree\nnot ended");
  Append(LogOf("front", 0), "other\n");
  v1::WatchLogsRequest request;
  request.set_group("front");
  request.set_slot(1);
  request.set_last(2);
  EXPECT_THAT(ReadAll(request), ElementsAre("two", "three"));
}

TEST_F(LogStreamTest, OfAServiceOnlyTheLinesThatNameIt) {
  Append(LogOf("steady-1", 0), Line(1, "catalog", "a") + "\n" + Line(2, "currency", "b") +
                                   "\nplain output\n" +
                                   Line(3, "currency", "says \\\"service\\\":\\\"catalog\\\"") +
                                   "\n" + Line(4, "catalog", "c") + "\n");
  v1::WatchLogsRequest request;
  request.set_service("catalog");
  EXPECT_THAT(ReadAll(request), ElementsAre(Line(1, "catalog", "a"), Line(4, "catalog", "c")));
}

TEST_F(LogStreamTest, PastLinesOfSeveralWorkersComeInTheOrderOfTheirTime) {
  Append(LogOf("front", 0), Line(1, "orders", "a") + "\n" + Line(5, "orders", "d") + "\n");
  Append(LogOf("front", 1), Line(2, "orders", "b") + "\n" + Line(3, "orders", "c") + "\n");
  v1::WatchLogsRequest request;
  request.set_service("orders");
  request.set_last(3);
  EXPECT_THAT(ReadAll(request),
              ElementsAre(Line(2, "orders", "b"), Line(3, "orders", "c"), Line(5, "orders", "d")));
}

TEST_F(LogStreamTest, FollowsOverARotation) {
  const std::string log = LogOf("batch-1", 0);
  Append(log, "old\n");
  v1::WatchLogsRequest request;
  request.set_group("batch-1");
  request.set_follow(true);
  request.set_last(1);
  auto context = Context();
  auto reader = stub_->WatchLogs(context.get(), request);
  v1::LogLine line;
  ASSERT_TRUE(reader->Read(&line));
  EXPECT_EQ(line.line(), "old");
  EXPECT_EQ(line.group(), "batch-1");
  Append(log, "new ");
  Append(log, "line\n");
  ASSERT_TRUE(reader->Read(&line));
  EXPECT_EQ(line.line(), "new line");
  Append(log, "last before\n");
  ASSERT_EQ(std::rename(log.c_str(), (log + ".1").c_str()), 0);
  Append(log, "first after\n");
  ASSERT_TRUE(reader->Read(&line));
  EXPECT_EQ(line.line(), "last before");
  ASSERT_TRUE(reader->Read(&line));
  EXPECT_EQ(line.line(), "first after");
  context->TryCancel();
}

TEST_F(LogStreamTest, WhateverAServicePrintsIsAValidMessage) {
  Append(LogOf("batch-1", 0),
         std::string("bad \xff\xc0\xaf byte\n") + std::string(100'000, 'x') + "\nnext\n");
  v1::WatchLogsRequest request;
  request.set_group("batch-1");
  const std::vector<std::string> lines = ReadAll(request);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0], "bad \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd byte");
  EXPECT_EQ(lines[1].size(), LogFile::kLongestLine);
  EXPECT_EQ(lines[2], "next");
}

TEST_F(LogStreamTest, AMissingLogIsAnEmptyOne) {
  v1::WatchLogsRequest request;
  request.set_group("front");
  EXPECT_THAT(ReadAll(request), ::testing::IsEmpty());
}

TEST_F(LogStreamTest, ALongLogReachesASlowReaderWhole) {
  const std::string log = LogOf("batch-1", 0);
  Append(log, "start\n");
  v1::WatchLogsRequest request;
  request.set_group("batch-1");
  request.set_follow(true);
  request.set_last(1);
  auto context = Context();
  auto reader = stub_->WatchLogs(context.get(), request);
  v1::LogLine line;
  ASSERT_TRUE(reader->Read(&line));
  std::string text;
  for (int i = 0; i < 20000; ++i) text += std::to_string(i) + "\n";
  Append(log, text);
  for (int i = 0; i < 20000; ++i) {
    ASSERT_TRUE(reader->Read(&line));
    ASSERT_EQ(line.line(), std::to_string(i));
  }
  context->TryCancel();
}

}  // namespace
}  // namespace cohost::supervisor
