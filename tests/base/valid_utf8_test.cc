// SPDX-License-Identifier: Apache-2.0
#include "base/valid_utf8.h"

#include "gtest/gtest.h"

namespace cohost {
namespace {

constexpr const char* kMark = "\xef\xbf\xbd";

TEST(ValidUtf8, LeavesWellFormedTextAlone) {
  for (const char* text : {"", "plain", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80",
                           "\xed\x9f\xbf", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_EQ(ValidUtf8(text), text);
  }
}

TEST(ValidUtf8, MarksEachByteThatIsNoPartOfIt) {
  EXPECT_EQ(ValidUtf8("a\xff"
                      "b"),
            std::string("a") + kMark + "b");
  EXPECT_EQ(ValidUtf8("\xc0\xaf"), std::string(kMark) + kMark) << "overlong";
  EXPECT_EQ(ValidUtf8("\xe0\x80\xaf").size(), 9u) << "overlong";
  EXPECT_EQ(ValidUtf8("\xed\xa0\x80").size(), 9u) << "surrogate";
  EXPECT_EQ(ValidUtf8("\xf4\x90\x80\x80").size(), 12u) << "above U+10FFFF";
  EXPECT_EQ(ValidUtf8("\xe2\x82"), std::string(kMark) + kMark) << "cut";
}

TEST(CutBefore, EndsBetweenCharacters) {
  const std::string text = "a\xc3\xa9\xf0\x9f\x98\x80z";  // 1, 2, 4 and 1 bytes
  const size_t ends[] = {0, 1, 1, 3, 3, 3, 3, 7, 8, 8};
  for (size_t most = 0; most < std::size(ends); ++most) {
    EXPECT_EQ(CutBefore(text, most), ends[most]) << most;
  }
  EXPECT_EQ(CutBefore("", 5), 0U);
}

}  // namespace
}  // namespace cohost
