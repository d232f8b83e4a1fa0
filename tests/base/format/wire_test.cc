// SPDX-License-Identifier: Apache-2.0
#include "base/format/wire.h"

#include "gtest/gtest.h"

namespace cohost {
namespace {

TEST(Wire, WritesLittleEndian) {
  WireWriter writer;
  writer.U32(0x01020304);
  writer.String("ab");
  EXPECT_EQ(writer.bytes(), std::string("\x04\x03\x02\x01\x02\0\0\0ab", 10));
}

TEST(Wire, ReadsBackWhatWasWritten) {
  WireWriter writer;
  writer.U64(1ULL << 40);
  writer.String("text");
  writer.U32(2);
  writer.U32(7);
  writer.U32(8);
  WireReader reader(writer.bytes());
  EXPECT_EQ(reader.U64(), 1ULL << 40);
  EXPECT_EQ(reader.String(4), "text");
  EXPECT_EQ(reader.Count(2, 4), 2u);
  EXPECT_EQ(reader.U32(), 7u);
  EXPECT_FALSE(reader.Complete());
  EXPECT_EQ(reader.U32(), 8u);
  EXPECT_TRUE(reader.Complete());
}

TEST(Wire, EveryCutFailsAndStaysFailed) {
  WireWriter writer;
  writer.U64(1);
  writer.String("text");
  for (size_t length = 0; length < writer.bytes().size(); ++length) {
    WireReader reader(std::string_view(writer.bytes()).substr(0, length));
    (void)reader.U64();
    (void)reader.String(100);
    EXPECT_FALSE(reader.Complete()) << length;
    EXPECT_EQ(reader.U32(), 0u);
  }
}

TEST(Wire, HostileLengthsAndCountsFail) {
  const std::string huge("\xff\xff\xff\xff", 4);
  EXPECT_EQ(WireReader(huge).String(SIZE_MAX), "");
  EXPECT_EQ(WireReader(huge).Count(SIZE_MAX, 8), 0u);
  WireReader over_limit(std::string_view("\x03\0\0\0abc", 7));
  EXPECT_EQ(over_limit.String(2), "");
  EXPECT_TRUE(over_limit.failed());
}

}  // namespace
}  // namespace cohost
