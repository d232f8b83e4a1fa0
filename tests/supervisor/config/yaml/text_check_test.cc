// SPDX-License-Identifier: Apache-2.0
#include "supervisor/config/yaml/text_check.h"

#include <gtest/gtest.h>

#include <string>

namespace cohost::supervisor {
namespace {

TEST(CheckText, TakesUtf8OfEveryLength) {
  for (const char* text : {"", "plain\ttext\r\n", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80",
                           "\xef\xbf\xbd", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_FALSE(CheckText(text).has_value()) << text;
  }
}

TEST(CheckText, FindsTheFirstBrokenSequence) {
  for (const char* broken :
       {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xc3", "\xc3(", "\xe0\x80\x80", "\xed\xa0\x80",
        "\xe2\x82", "\xf0\x80\x80\x80", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "\xfe"}) {
    const auto fault = CheckText(std::string("ok\n\xc3\xa4") + broken);
    ASSERT_TRUE(fault.has_value());
    EXPECT_EQ(fault->line, 2);
    EXPECT_EQ(fault->column, 3);
  }
}

TEST(CheckText, RefusesControlCharactersAndMarks) {
  EXPECT_EQ(CheckText(std::string("a\0b", 3))->column, 2);
  EXPECT_EQ(CheckText("a\x1b[0m")->message, "control character 0x1b");
  EXPECT_EQ(CheckText("a\x7f")->message, "control character 0x7f");
  EXPECT_EQ(CheckText("a\xef\xbb\xbf")->message, "byte order mark inside the text");
}

TEST(IsUtf8, RefusesBrokenSequencesOnly) {
  EXPECT_TRUE(IsUtf8(""));
  EXPECT_TRUE(IsUtf8("a\n\x7f\xc3\xbc\xf0\x9f\x98\x80"));
  for (const char* broken : {"\x85", "a\xff", "\xc3", "\xed\xa0\x80", "\xc0\x80"}) {
    EXPECT_FALSE(IsUtf8(broken)) << broken;
  }
}

}  // namespace
}  // namespace cohost::supervisor
