// SPDX-License-Identifier: Apache-2.0
#include "worker/http/chunked_body.h"

#include <gtest/gtest.h>

#include <string>

namespace cohost::worker {
namespace {

using Result = ChunkedBody::Result;

struct Reader {
  explicit Reader(uint64_t body_bytes = 1000, uint64_t header_bytes = 1000)
      : body(body_bytes, header_bytes, [this](std::string_view part) { data.append(part); }) {}

  Result Read(size_t room = 100'000) {
    size_t consumed = 0;
    const Result result = body.Read(pending, room, &consumed);
    pending.erase(0, consumed);
    return result;
  }
  Result Add(std::string_view bytes) {
    pending.append(bytes);
    return Read();
  }

  std::string data;
  std::string pending;
  ChunkedBody body;
};

constexpr std::string_view kBody = "3\r\nabc\r\n00a;x=\"y;\";z\r\n0123456789\r\n0\r\nT: 1\r\n\r\n";

TEST(ChunkedBody, ReadsByteByByteAndLeavesWhatFollows) {
  Reader reader;
  for (size_t i = 0; i + 1 < kBody.size(); ++i) {
    ASSERT_EQ(reader.Add(kBody.substr(i, 1)), Result::kMore) << i;
  }
  EXPECT_EQ(reader.Add("\nGET"), Result::kComplete);
  EXPECT_EQ(reader.data, "abc0123456789");
  EXPECT_EQ(reader.pending, "GET");
  ASSERT_EQ(reader.body.trailers().size(), 1u);
  EXPECT_EQ(reader.body.trailers()[0].first, "T");
  EXPECT_EQ(reader.body.trailers()[0].second, "1");
}

TEST(ChunkedBody, NeverGivesMoreThanTheRoom) {
  Reader reader;
  reader.pending = kBody;
  std::string before;
  for (int i = 0; i < 100; ++i) {
    before = reader.data;
    const Result result = reader.Read(2);
    EXPECT_LE(reader.data.size() - before.size(), 2u);
    if (result == Result::kComplete) break;
    ASSERT_EQ(result, Result::kMore);
  }
  EXPECT_EQ(reader.data, "abc0123456789");
}

TEST(ChunkedBody, TakesNothingWithoutRoom) {
  Reader reader;
  reader.pending = "3\r\nabc\r\n";
  EXPECT_EQ(reader.Read(0), Result::kMore);
  EXPECT_EQ(reader.data, "");
  EXPECT_EQ(reader.pending, "abc\r\n");
}

TEST(ChunkedBody, LimitsTheBody) {
  Reader reader(5);
  EXPECT_EQ(reader.Add("3\r\nabc\r\n"), Result::kMore);
  EXPECT_EQ(reader.Add("3\r\n"), Result::kTooLarge);
  Reader exact(5);
  EXPECT_EQ(exact.Add("5\r\nabcde\r\n0\r\n\r\n"), Result::kComplete);
}

TEST(ChunkedBody, LimitsTrailersAndExtensions) {
  Reader trailers(1000, 1000);
  EXPECT_EQ(trailers.Add("0\r\n"), Result::kMore);
  EXPECT_EQ(trailers.Add("A: " + std::string(2000, 'x')), Result::kMalformed);
  Reader extensions(100'000, 1000);
  Result result = Result::kMore;
  for (int i = 0; i < 1000 && result == Result::kMore; ++i) {
    result = extensions.Add("1;" + std::string(200, 'x') + "\r\na\r\n");
  }
  EXPECT_EQ(result, Result::kMalformed);
  EXPECT_LT(extensions.data.size(), 100u);
}

TEST(ChunkedBody, SaysAtOnceWhatCannotBecomeAChunk) {
  for (const char* bytes :
       {"x", "\n", " 5", "5 x\r\n", "0x5\r\n", "5\n", "-1", "5\rx234", "11111111111111111",
        "fffffffffffffffff\r\n", "\r\n5\r\n", "1\r\nabc\r\n", "1\r\na\n0\r\n\r\n"}) {
    Reader reader;
    EXPECT_EQ(reader.Add(bytes), Result::kMalformed) << bytes;
  }
}

}  // namespace
}  // namespace cohost::worker
