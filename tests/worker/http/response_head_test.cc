// SPDX-License-Identifier: Apache-2.0
#include "worker/http/response_head.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "tests/worker/http/http_harness.h"

namespace cohost::worker {
namespace {

TEST(ResponseHead, WritesFramingAndPersistence) {
  const std::array<HeaderView, 2> headers = {HeaderView{"A", "1"}, HeaderView{"A", "2"}};
  std::string out;
  AppendResponseHead(out, 200, headers, {Framing::kLength, 12}, Persistence::kKeepAlive);
  EXPECT_EQ(WithoutDates(out),
            "HTTP/1.1 200 OK\r\nDate: D\r\nContent-Length: 12\r\nA: 1\r\nA: 2\r\n\r\n");
  out.clear();
  AppendResponseHead(out, 404, {}, {Framing::kChunked, 0}, Persistence::kClose);
  EXPECT_EQ(WithoutDates(out),
            "HTTP/1.1 404 Not Found\r\nDate: D\r\nConnection: close\r\n"
            "Transfer-Encoding: chunked\r\n\r\n");
  out.clear();
  AppendResponseHead(out, 299, {}, {}, Persistence::kKeepAliveHttp10);
  EXPECT_TRUE(WithoutDates(out).ends_with("\r\nDate: D\r\nConnection: keep-alive\r\n\r\n")) << out;
  EXPECT_TRUE(out.starts_with("HTTP/1.1 299 ")) << out;
}

TEST(ResponseHead, WritesTheHostsAnswers) {
  std::string out;
  AppendHostAnswer(out, 503, Persistence::kKeepAlive, /*for_head_request=*/false);
  EXPECT_EQ(WithoutDates(out),
            "HTTP/1.1 503 Service Unavailable\r\nDate: D\r\nContent-Length: 24\r\n"
            "Content-Type: text/plain\r\nRetry-After: 1\r\n\r\n503 Service Unavailable\n");
  out.clear();
  AppendHostAnswer(out, 400, Persistence::kClose, /*for_head_request=*/true);
  EXPECT_TRUE(out.ends_with("\r\nContent-Length: 16\r\nContent-Type: text/plain\r\n\r\n")) << out;
}

TEST(ResponseHead, TheDateIsAnImfFixdate) {
  const std::string date(HttpDate());
  ASSERT_EQ(date.size(), 29u);
  EXPECT_EQ(date.substr(3, 2), ", ");
  EXPECT_EQ(date.substr(25), " GMT");
  EXPECT_EQ(date[19], ':');
}

}  // namespace
}  // namespace cohost::worker
