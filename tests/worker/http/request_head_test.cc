// SPDX-License-Identifier: Apache-2.0
#include "worker/http/request_head.h"

#include <gtest/gtest.h>

#include <string>

namespace cohost::worker {
namespace {

using Result = HeadScanner::Result;

TEST(HeadScanner, FindsTheEndWhereverTheBytesAreCut) {
  const std::string bytes = "GET / HTTP/1.1\r\nHost: x\r\n\r\nGET";
  const size_t size = bytes.size() - 3;
  for (size_t cut = 0; cut < size; ++cut) {
    HeadScanner scanner;
    ASSERT_EQ(scanner.Scan(std::string_view(bytes).substr(0, cut)), Result::kMore) << cut;
    EXPECT_EQ(scanner.past_request_line(), cut >= 16) << cut;
    ASSERT_EQ(scanner.Scan(bytes), Result::kComplete) << cut;
    EXPECT_EQ(scanner.size(), size);
  }
}

TEST(HeadScanner, RefusesLinesThatEndOtherwise) {
  for (const char* bytes : {"\n", "GET / HTTP/1.1\n", "a\r\n\n", "a\r\nb\n"}) {
    EXPECT_EQ(HeadScanner().Scan(bytes), Result::kMalformed) << bytes;
  }
  HeadScanner scanner;
  EXPECT_EQ(scanner.Scan("\r\n"), Result::kComplete);
  EXPECT_EQ(scanner.size(), 2u);
  scanner.Reset();
  EXPECT_EQ(scanner.Scan("a"), Result::kMore);
}

TEST(RequestHead, ReadsWhatIsThere) {
  RequestHead head;
  ASSERT_EQ(ParseRequestHead("POST /p?q HTTP/1.1\r\nHost: x\r\nA: 1\r\nA:  2 \r\n"
                             "Content-Length: 007\r\n\r\n",
                             head),
            0u);
  EXPECT_EQ(head.method, "POST");
  EXPECT_EQ(head.target, "/p?q");
  ASSERT_EQ(head.headers.size(), 4u);
  EXPECT_EQ(head.headers[2].name, "A");
  EXPECT_EQ(head.headers[2].value, "2");
  EXPECT_EQ(head.content_length, 7u);
  EXPECT_TRUE(head.keep_alive);
  EXPECT_FALSE(head.http_1_0);
  EXPECT_FALSE(head.expects_continue);
}

TEST(RequestHead, ForgetsTheOneBefore) {
  RequestHead head;
  ASSERT_EQ(ParseRequestHead("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-Continue\r\n"
                             "Transfer-Encoding: chunked\r\n\r\n",
                             head),
            0u);
  EXPECT_TRUE(head.expects_continue);
  EXPECT_FALSE(head.content_length.has_value());
  ASSERT_EQ(ParseRequestHead("GET / HTTP/1.0\r\n\r\n", head), 0u);
  EXPECT_TRUE(head.headers.empty());
  EXPECT_FALSE(head.expects_continue);
  EXPECT_FALSE(head.keep_alive);
  EXPECT_TRUE(head.http_1_0);
  EXPECT_EQ(head.content_length, 0u);
}

TEST(RequestHead, ReadsConnectionOptions) {
  RequestHead head;
  const auto keep = [&](const std::string& version, const std::string& value) {
    EXPECT_EQ(
        ParseRequestHead(
            "GET / HTTP/" + version + "\r\nHost: x\r\nConnection: " + value + "\r\n\r\n", head),
        0u);
    return head.keep_alive;
  };
  EXPECT_FALSE(keep("1.1", "close"));
  EXPECT_FALSE(keep("1.1", "foo, Close"));
  EXPECT_TRUE(keep("1.1", "closed"));
  EXPECT_TRUE(keep("1.0", "Keep-Alive"));
  EXPECT_FALSE(keep("1.0", "foo"));
}

TEST(RequestHead, AnExpectationWithoutABodyIsNone) {
  RequestHead head;
  ASSERT_EQ(ParseRequestHead("GET / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n\r\n", head),
            0u);
  EXPECT_FALSE(head.expects_continue);
}

TEST(RequestHead, ReducesTheAbsoluteForm) {
  RequestHead head;
  ASSERT_EQ(ParseRequestHead("OPTIONS HTTP://y HTTP/1.1\r\nHost: x\r\n\r\n", head), 0u);
  EXPECT_EQ(head.target, "*");
  EXPECT_EQ(head.headers[0].value, "y");
  EXPECT_EQ(ParseRequestHead("GET http://y HTTP/1.1\r\n\r\n", head), 400u) << "Host is required";
  EXPECT_EQ(ParseRequestHead("GET ftp://y/ HTTP/1.1\r\nHost: x\r\n\r\n", head), 400u);
}

}  // namespace
}  // namespace cohost::worker
