// SPDX-License-Identifier: Apache-2.0
#include "worker/sdk/text.hpp"

#include <gtest/gtest.h>

namespace cohost {
namespace {

TEST(HtmlEscape, NothingOfTheTextCanBecomeMarkup) {
  EXPECT_EQ(HtmlEscape("<a href=\"x\">'&'</a>"),
            "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;&lt;/a&gt;");
  EXPECT_EQ(HtmlEscape("plain \xc3\xa4"), "plain \xc3\xa4");
}

TEST(JsonString, EscapesWhatJsonDoesNotAllow) {
  EXPECT_EQ(JsonString("a\"b\\c\n\t\x01"), "\"a\\\"b\\\\c\\n\\t\\u0001\"");
  EXPECT_EQ(JsonString(""), "\"\"");
}

TEST(UrlDecode, UndoesPercentAndPlus) {
  EXPECT_EQ(UrlDecode("a%20b+c%C3%a4"), "a b+c\xc3\xa4");
  EXPECT_EQ(UrlDecode("a+b", /*form=*/true), "a b");
}

TEST(UrlDecode, BrokenSequencesAreNothing) {
  for (const char* broken : {"%", "%2", "a%zz", "%g0", "%00"}) {
    EXPECT_EQ(UrlDecode(broken), std::nullopt) << broken;
  }
}

TEST(UrlEncode, ComesBackByDecoding) {
  std::string all;
  for (int c = 1; c < 256; ++c) all += static_cast<char>(c);
  EXPECT_EQ(UrlDecode(UrlEncode(all)), all);
  EXPECT_EQ(UrlEncode("a/b c"), "a%2Fb%20c");
}

TEST(Target, HasAPathAndAQuery) {
  EXPECT_EQ(TargetPath("/a%20b?c=d?e"), "/a%20b");
  EXPECT_EQ(TargetQuery("/a%20b?c=d?e"), "c=d?e");
  EXPECT_EQ(TargetQuery("/a"), "");
  EXPECT_EQ(TargetPath("*"), "*");
}

TEST(QueryValue, IsTheFirstOfItsName) {
  EXPECT_EQ(QueryValue("a=1&b=2&a=3", "a"), "1");
  EXPECT_EQ(QueryValue("a=1&n%61me=x+y", "name"), "x y");
  EXPECT_EQ(QueryValue("bare&a=1", "bare"), "");
  EXPECT_EQ(QueryValue("a=1", "b"), std::nullopt);
  EXPECT_EQ(QueryValue("a=%zz", "a"), std::nullopt);
  EXPECT_EQ(QueryValue("", ""), std::nullopt);
}

}  // namespace
}  // namespace cohost
