// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/tree/glob.h"

#include <chrono>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cohost::supervisor {
namespace {

using ::testing::Eq;
using ::testing::Optional;

bool Matches(const std::string& pattern, const std::string& path) {
  const auto glob = Glob::Parse(pattern);
  EXPECT_TRUE(glob.ok()) << glob.status();
  return glob.ok() && glob->Matches(path);
}

TEST(Glob, AStarStaysInsideOneName) {
  EXPECT_TRUE(Matches("*.db", "app.db"));
  EXPECT_TRUE(Matches("*.db", ".db"));
  EXPECT_FALSE(Matches("*.db", "app.db-wal"));
  EXPECT_FALSE(Matches("*.db", "data/app.db"));
  EXPECT_FALSE(Matches("*", "a/b"));
  EXPECT_TRUE(Matches("a*b*c", "aXbYbZc"));
  EXPECT_FALSE(Matches("a*b*c", "aXbYbZ"));
  EXPECT_FALSE(Matches("*.db", "APP.DB"));
}

TEST(Glob, TwoStarsCrossFolders) {
  EXPECT_TRUE(Matches("uploads/**", "uploads/a"));
  EXPECT_TRUE(Matches("uploads/**", "uploads/a/b/c"));
  EXPECT_FALSE(Matches("uploads/**", "uploads"));
  EXPECT_FALSE(Matches("uploads/**", "uploads2/a"));
  EXPECT_TRUE(Matches("**/*.db", "a.db"));
  EXPECT_TRUE(Matches("**/*.db", "x/y/a.db"));
  EXPECT_TRUE(Matches("a/**/b", "a/b"));
  EXPECT_TRUE(Matches("a/**/b", "a/x/y/b"));
  EXPECT_FALSE(Matches("a/**/b", "a/x/y"));
  EXPECT_TRUE(Matches("**/cache/**", "x/cache/y/z"));
  EXPECT_FALSE(Matches("**/cache/**", "x/cache"));
  EXPECT_TRUE(Matches("**/**", "a"));
}

TEST(Glob, AQuestionMarkIsOneCharacter) {
  EXPECT_TRUE(Matches("data/?.txt", "data/a.txt"));
  EXPECT_TRUE(Matches("data/?.txt", "data/\xC3\xA4.txt"));
  EXPECT_FALSE(Matches("data/?.txt", "data/ab.txt"));
  EXPECT_FALSE(Matches("data/?.txt", "data/.txt"));
  // A byte that is no part of UTF-8, and one that lacks its continuation.
  EXPECT_TRUE(Matches("?.txt", "\xFF.txt"));
  EXPECT_TRUE(Matches("?", "\xC3"));
}

TEST(Glob, SetsHoldCharactersAndRanges) {
  EXPECT_TRUE(Matches("[a-c_].log", "b.log"));
  EXPECT_TRUE(Matches("[a-c_].log", "_.log"));
  EXPECT_FALSE(Matches("[a-c_].log", "d.log"));
  EXPECT_TRUE(Matches("[!0-9]*", "a1"));
  EXPECT_FALSE(Matches("[!0-9]*", "1a"));
  EXPECT_TRUE(Matches("[!0-9]", "\xC3\xA4"));
  EXPECT_TRUE(Matches("[]x]", "]"));
  EXPECT_TRUE(Matches("[a-]", "-"));
}

TEST(Glob, ABackslashQuotesTheNextCharacter) {
  EXPECT_TRUE(Matches("a\\*b", "a*b"));
  EXPECT_FALSE(Matches("a\\*b", "aXb"));
  EXPECT_TRUE(Matches("\\[x]", "[x]"));
  EXPECT_TRUE(Matches("a\\\\b", "a\\b"));
}

TEST(Glob, RefusesWhatReachesOutsideOrMeansNothing) {
  for (const std::string& pattern :
       {std::string(), std::string("/a"), std::string("../a"), std::string("a/../b"),
        std::string("./a"), std::string("a/"), std::string("a//b"), std::string("a**"),
        std::string("**a/b"), std::string("[a"), std::string("[z-a]"), std::string("[\xC3\xA4]"),
        std::string("a\\"), std::string("a\0b", 3), std::string("a\nb"), std::string(513, 'a')}) {
    EXPECT_EQ(Glob::Parse(pattern).status().code(), absl::StatusCode::kInvalidArgument) << pattern;
  }
  std::string deep = "a";
  for (int i = 0; i < 32; ++i) deep += "/a";
  EXPECT_EQ(Glob::Parse(deep).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(Glob, TellsPatternsWithoutWildcardsFromOthers) {
  EXPECT_THAT(Glob::Parse("data/a\\*.db")->literal(), Optional(Eq("data/a*.db")));
  EXPECT_EQ(Glob::Parse("data/*.db")->literal(), std::nullopt);
  EXPECT_EQ(Glob::Parse("data/**")->literal(), std::nullopt);
  EXPECT_TRUE(Glob::Parse("data/**")->is_below());
  EXPECT_FALSE(Glob::Parse("**")->is_below());
  EXPECT_TRUE(Glob::Parse("**/**")->is_everything());
  EXPECT_FALSE(Glob::Parse("**/*")->is_everything());
}

TEST(Glob, KnowsTheFolderThatItIsIn) {
  EXPECT_EQ(Glob::Parse("*.db")->folder(), std::nullopt);
  EXPECT_EQ(Glob::Parse("a/*/x.db")->folder()->text(), "a/*");
  EXPECT_TRUE(Glob::Parse("a/*/**")->folder()->Matches("a/b"));
  EXPECT_FALSE(Glob::Parse("a/*/**")->folder()->Matches("a/b/c"));
}

// A matcher that backtracks over every star would not end within a lifetime.
TEST(Glob, HostilePatternsAreMatchedInBoundedSteps) {
  std::string stars;
  while (stars.size() + 2 <= 500) stars += "*a";
  std::string parts;
  for (int i = 0; i < 15; ++i) parts += "**/a*a*a*b/";
  std::string path;
  for (int i = 0; i < 60; ++i) path += std::string(30, 'a') + "/";
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_FALSE(Matches(stars, std::string(2000, 'a') + "b"));
  EXPECT_FALSE(Matches(parts + "x", path + "x"));
  EXPECT_FALSE(Matches("**/**/**/**/**/**/**/**/b", path + "x"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

}  // namespace
}  // namespace cohost::supervisor
