// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/tree/relative_path.h"

#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace cohost::supervisor {
namespace {

TEST(RelativePath, TakesNamesBelowAFolder) {
  for (const std::string path : {"a", "a/b.c", ".hidden", "..a", "a b", "\xC3\xA4", "a\nb"}) {
    EXPECT_TRUE(CheckRelativePath(path).ok()) << path;
  }
}

TEST(RelativePath, RefusesWhatCanLeaveTheFolderOrIsTooLong) {
  std::string deep = "a";
  for (int i = 0; i < 64; ++i) deep += "/a";
  std::string far = std::string(250, 'a');
  while (far.size() < 2048) far += "/" + std::string(250, 'a');
  for (const std::string& path :
       {std::string(), std::string("/a"), std::string("a/"), std::string("a//b"), std::string("."),
        std::string("a/./b"), std::string("../a"), std::string("a/.."), std::string("a\0b", 3),
        std::string(256, 'a'), deep, far}) {
    EXPECT_EQ(CheckRelativePath(path).code(), absl::StatusCode::kInvalidArgument) << path;
  }
}

TEST(RelativePath, LinksStayInside) {
  EXPECT_TRUE(CheckLinkTarget("l", "a/b").ok());
  EXPECT_TRUE(CheckLinkTarget("x/l", "../a").ok());
  EXPECT_TRUE(CheckLinkTarget("x/y/l", "../../a").ok());
  EXPECT_TRUE(CheckLinkTarget("x/l", "..").ok());
  for (const auto& [path, target] :
       std::vector<std::pair<std::string, std::string>>{{"l", "../a"},
                                                        {"l", ".."},
                                                        {"x/l", "../../a"},
                                                        {"x/l", "../"},
                                                        {"l", "/etc"},
                                                        {"l", ""},
                                                        {"l", "."},
                                                        {"l", "a/../b"},
                                                        {"x/l", "a/../../../b"},
                                                        {"x/y/l", "../a/.."},
                                                        {"l", "a//b"},
                                                        {"l", std::string("a\0", 2)}}) {
    EXPECT_EQ(CheckLinkTarget(path, target).code(), absl::StatusCode::kInvalidArgument)
        << path << " -> " << target;
  }
}

TEST(RelativePath, LinkTargetsAreMadePlain) {
  EXPECT_EQ(*NormalLinkTarget("l", "./a//b/"), "a/b");
  EXPECT_EQ(*NormalLinkTarget("x/l", "./.././a"), "../a");
  EXPECT_EQ(*NormalLinkTarget("x/l", "../"), "..");
  for (const std::string target : {"/a", "a/../b", "../../a", "", "."}) {
    EXPECT_EQ(NormalLinkTarget("x/l", target).status().code(), absl::StatusCode::kInvalidArgument)
        << target;
  }
}

TEST(RelativePath, KnowsFolders) {
  EXPECT_EQ(FolderOf("a/b/c"), "a/b");
  EXPECT_EQ(FolderOf("a"), "");
  EXPECT_TRUE(IsBelow("a/b/c", "a"));
  EXPECT_FALSE(IsBelow("a", "a"));
  EXPECT_FALSE(IsBelow("ab/c", "a"));
}

TEST(RelativePath, EveryByteSurvivesTheEscape) {
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  const std::string word = EscapeWord(all);
  EXPECT_EQ(word.find_first_of(" \n\r\t"), std::string::npos);
  EXPECT_EQ(*UnescapeWord(word), all);
  EXPECT_EQ(EscapeWord("a b%\n"), "a%20b%25%0A");
}

TEST(RelativePath, AWordHasOneFormOnly) {
  for (const std::string word : {"a b", "%", "%2", "%0a", "%41", "%2F", "%GG", "a%", "\xC3\xA4"}) {
    EXPECT_EQ(UnescapeWord(word).status().code(), absl::StatusCode::kInvalidArgument) << word;
  }
}

}  // namespace
}  // namespace cohost::supervisor
