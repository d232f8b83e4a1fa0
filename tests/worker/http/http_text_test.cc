// SPDX-License-Identifier: Apache-2.0
#include "worker/http/http_text.h"

#include <gtest/gtest.h>

namespace cohost::worker {
namespace {

TEST(HttpText, KnowsTokens) {
  EXPECT_TRUE(IsToken("Content-Type"));
  EXPECT_TRUE(IsToken("!#$%&'*+-.^_`|~09"));
  for (const char* bad : {"", "a b", "a:", "a\t", "a\r", "(a)", "a\x7f", "\xc3\xa4"}) {
    EXPECT_FALSE(IsToken(bad)) << bad;
  }
  EXPECT_FALSE(IsToken(std::string_view("a\0b", 3)));
}

TEST(HttpText, KnowsFieldValues) {
  EXPECT_TRUE(IsFieldValue(""));
  EXPECT_TRUE(IsFieldValue("a \t\"b\" \xc3\xa4"));
  for (const char* bad : {"\r", "\n", "\x01", "a\x7f", "a\r\nb"}) {
    EXPECT_FALSE(IsFieldValue(bad)) << bad;
  }
  EXPECT_FALSE(IsFieldValue(std::string_view("\0", 1)));
}

TEST(HttpText, KnowsHosts) {
  for (const char* good : {"", "x", "x:80", "x:", "a-b.example:65535", "127.0.0.1", "[::1]",
                           "[::1]:80", "[v1.x]", "%41", "a_b"}) {
    EXPECT_TRUE(IsHost(good)) << good;
  }
  for (const char* bad : {":80", "x:y", "x:123456", "x y", "x,y", "x/y", "u@x", "[::1", "[]",
                          "[::1]x", "[::1]:x", "[/]", "x:80:80", "\"x\"", "x?y", "\xc3\xa4"}) {
    EXPECT_FALSE(IsHost(bad)) << bad;
  }
}

TEST(HttpText, ComparesWithoutCase) {
  EXPECT_TRUE(EqualsIgnoringCase("Host", "hOST"));
  EXPECT_FALSE(EqualsIgnoringCase("Host", "Hos"));
  // '[' and '{' differ by the same bit as letters do.
  EXPECT_FALSE(EqualsIgnoringCase("[", "{"));
  EXPECT_TRUE(ContainsIgnoringCase("gzip, CHUNKED", "chunked"));
  EXPECT_FALSE(ContainsIgnoringCase("chunke", "chunked"));
}

TEST(HttpText, KnowsOriginForms) {
  EXPECT_TRUE(IsOriginForm("/"));
  EXPECT_TRUE(IsOriginForm("//a%20b?c=d&e"));
  for (const char* bad : {"", "a", "*", "/a b", "/a#b", "/\x7f", "/\xc3\xa4"}) {
    EXPECT_FALSE(IsOriginForm(bad)) << bad;
  }
}

TEST(HttpText, KnowsTheHostsOwnFields) {
  for (const char* own : {"Content-Length", "DATE", "connection", "Keep-Alive", "Upgrade",
                          "Trailer", "Transfer-Encoding", "Proxy-Connection"}) {
    EXPECT_TRUE(IsHostField(own)) << own;
  }
  for (const char* other : {"Content-Type", "Dat", "ETag", "Server", "Location"}) {
    EXPECT_FALSE(IsHostField(other)) << other;
  }
}

}  // namespace
}  // namespace cohost::worker
