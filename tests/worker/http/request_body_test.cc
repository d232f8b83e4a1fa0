// SPDX-License-Identifier: Apache-2.0
#include "worker/http/request_body.h"

#include <gtest/gtest.h>

#include <string>

namespace cohost::worker {
namespace {

TEST(RequestBody, TakesAsManyBytesAsWereSaid) {
  std::string data;
  const ChunkedBody::Sink sink = [&](std::string_view part) { data.append(part); };
  RequestHead head;
  head.content_length = 5;
  RequestBody body;
  body.Start(head, 100, 100, sink);
  EXPECT_FALSE(body.complete());
  size_t consumed = 0;
  EXPECT_EQ(body.Read("abc", 2, sink, &consumed), ChunkedBody::Result::kMore);
  EXPECT_EQ(consumed, 2u);
  EXPECT_EQ(body.Read("cdeGET", 100, sink, &consumed), ChunkedBody::Result::kComplete);
  EXPECT_EQ(consumed, 3u);
  EXPECT_EQ(data, "abcde");
  EXPECT_TRUE(body.complete());
  EXPECT_EQ(body.chunked(), nullptr);
}

TEST(RequestBody, StartsAgainAfterAChunkedOne) {
  std::string data;
  const ChunkedBody::Sink sink = [&](std::string_view part) { data.append(part); };
  RequestHead head;
  head.content_length.reset();
  RequestBody body;
  body.Start(head, 100, 100, sink);
  size_t consumed = 0;
  EXPECT_EQ(body.Read("1\r\na\r\n0\r\n\r\n", 100, sink, &consumed), ChunkedBody::Result::kComplete);
  EXPECT_NE(body.chunked(), nullptr);
  head.content_length = 1;
  body.Start(head, 100, 100, sink);
  EXPECT_EQ(body.chunked(), nullptr);
  EXPECT_EQ(body.Read("b", 100, sink, &consumed), ChunkedBody::Result::kComplete);
  EXPECT_EQ(data, "ab");
}

TEST(RequestBody, WithoutABodyNothingIsExpected) {
  RequestHead head;
  head.content_length = 0;
  RequestBody body;
  body.Start(head, 100, 100, [](std::string_view) { FAIL(); });
  EXPECT_TRUE(body.complete());
}

}  // namespace
}  // namespace cohost::worker
