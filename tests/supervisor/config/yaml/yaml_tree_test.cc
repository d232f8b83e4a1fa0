// SPDX-License-Identifier: Apache-2.0
#include "supervisor/config/yaml/yaml_tree.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/clock.h"

namespace cohost::supervisor {
namespace {

struct Parsed {
  YamlNode root;
  std::vector<ConfigError> errors;
};

Parsed Parse(std::string_view text, const YamlLimits& limits = {}) {
  ConfigErrors errors;
  Parsed parsed;
  parsed.root = ParseYaml(text, "f", limits, errors);
  parsed.errors = errors.Take();
  return parsed;
}

// The rendered errors, one a line.
std::string ErrorsOf(std::string_view text) {
  std::string all;
  for (const ConfigError& error : Parse(text).errors) absl::StrAppend(&all, Render(error), "\n");
  return all;
}

std::string Repeat(std::string_view text, size_t times) {
  std::string all;
  for (size_t i = 0; i < times; ++i) all += text;
  return all;
}

TEST(ParseYaml, KeepsScalarsAsWritten) {
  const Parsed parsed =
      Parse("[no, On, 1e3, 0755, null, ~, 1_000, 'quoted', \"q2\", NULL, |\n  block\n]\n");
  // A block scalar cannot stand in a flow list: the error says so, and the rest is tested below.
  EXPECT_EQ(parsed.errors.size(), 1u);
  const Parsed list = Parse("[no, On, 1e3, 0755, null, ~, 1_000, 'quoted', \"q2\", NULL, 1:30]\n");
  ASSERT_TRUE(list.errors.empty());
  const char* expected[] = {"no",    "On",     "1e3", "0755", "null", "~",
                            "1_000", "quoted", "q2",  "NULL", "1:30"};
  ASSERT_EQ(list.root.children.size(), std::size(expected));
  for (size_t i = 0; i < std::size(expected); ++i) {
    EXPECT_EQ(list.root.children[i].kind, YamlNode::Kind::kScalar);
    EXPECT_EQ(list.root.children[i].text, expected[i]);
    EXPECT_EQ(list.root.children[i].quoted, i == 7 || i == 8) << i;
  }
}

TEST(ParseYaml, TellsAnEmptyValueFromANullThatFollows) {
  const Parsed parsed = Parse("a:\nnull: x\nb: ~\nc:\n~: y\nd: null\n");
  ASSERT_TRUE(parsed.errors.empty());
  const YamlNode& map = parsed.root;
  ASSERT_EQ(map.entry_count(), 6u);
  EXPECT_EQ(map.value(0).kind, YamlNode::Kind::kEmpty);
  EXPECT_EQ(map.key(1).text, "null");
  EXPECT_EQ(map.value(2).text, "~");
  EXPECT_EQ(map.value(3).kind, YamlNode::Kind::kEmpty);
  EXPECT_EQ(map.key(4).text, "~");
  EXPECT_EQ(map.value(5).text, "null");
}

TEST(ParseYaml, KnowsLinesAndColumns) {
  const Parsed parsed = Parse("\xef\xbb\xbfone: 1\r\ntwo:\r\n  - {x: y}\r\n");
  ASSERT_TRUE(parsed.errors.empty());
  const YamlNode& x = parsed.root.Find("two")->children[0].key(0);
  EXPECT_EQ(x.line, 3);
  EXPECT_EQ(x.column, 6);
  EXPECT_EQ(parsed.root.Find("one")->text, "1");
}

TEST(CFG_01_DuplicateKeys, AreErrorsWithBothLines) {
  EXPECT_EQ(ErrorsOf("a: 1\nb: 2\na: 3\n"), "f:3:1: a: duplicate key, first on line 1\n");
  EXPECT_EQ(ErrorsOf("- x: {k: 1,\n      k: 2}\n"),
            "f:2:7: [0].x.k: duplicate key, first on line 1\n");
  EXPECT_EQ(ErrorsOf("a: 1\n\"a\": 2\n'a': 3\n"),
            "f:2:1: a: duplicate key, first on line 1\nf:3:1: a: duplicate key, first on line 2\n");
}

TEST(CFG_01_DuplicateKeys, ThroughAnAnchorAreRefusedWithIt) {
  EXPECT_NE(ErrorsOf("x: &x {a: 1}\ny:\n  <<: *x\n  a: 2\n").find("merge keys"), std::string::npos);
}

TEST(CFG_03_ErrorsHaveAPlace, SyntaxErrors) {
  EXPECT_EQ(ErrorsOf("a: [1, 2\nb: 3\n").substr(0, 4), "f:2:");
  EXPECT_EQ(ErrorsOf("a:\n\tb: 1\n"), "f:2:1: a tab is used for indentation; YAML wants spaces\n");
  EXPECT_EQ(ErrorsOf("a: 1\n---\nb: 1\n").substr(0, 6), "f:2:1:");
  EXPECT_NE(ErrorsOf("a: 1\n---\nb: 1\n").find("second document"), std::string::npos);
  EXPECT_EQ(ErrorsOf("ab: 1\nb: x\0y\n"), "");  // the literal ends at the NUL
  EXPECT_NE(ErrorsOf(std::string_view("ab: 1\nb: x\0y\n", 13)).find("f:2:5: the file holds a NUL"),
            std::string::npos);
  EXPECT_NE(ErrorsOf("a: \xff\n").find("f:1:4: byte 0xff is not valid UTF-8"), std::string::npos);
  EXPECT_NE(ErrorsOf("[a]: 1\n").find("f:1:1: a key must be a word"), std::string::npos);
  EXPECT_NE(ErrorsOf("a: !!int 3\n").find("f:1:4: a: tags"), std::string::npos);
  EXPECT_NE(ErrorsOf("a: ! x\n").find("f:1:4: a: tags"), std::string::npos);
}

TEST(CFG_03_ErrorsHaveAPlace, EmptyFilesAreEmpty) {
  for (const char* text : {"", "\n\n", "# only a comment\n", "---\n", "\xef\xbb\xbf"}) {
    const Parsed parsed = Parse(text);
    EXPECT_TRUE(parsed.errors.empty()) << text;
    EXPECT_EQ(parsed.root.kind, YamlNode::Kind::kEmpty) << text;
  }
}

TEST(CFG_04_HostileYaml, AliasesAreRefusedBeforeTheyCostAnything) {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 10; ++i) {
    absl::StrAppend(&bomb, "a", i, ": &a", i, " [", Repeat(absl::StrCat("*a", i - 1, ", "), 9),
                    "]\n");
  }
  const std::string errors = ErrorsOf(bomb);
  EXPECT_NE(errors.find("anchors"), std::string::npos);
  EXPECT_NE(errors.find("aliases"), std::string::npos);
  EXPECT_NE(ErrorsOf("a: &x [*x]\n").find("aliases"), std::string::npos);
  EXPECT_NE(ErrorsOf("a: *nowhere\n"), "");
}

TEST(CFG_04_HostileYaml, DepthIsLimited) {
  EXPECT_TRUE(Parse(Repeat("[", 32) + Repeat("]", 32)).errors.empty());
  EXPECT_NE(ErrorsOf(Repeat("[", 33) + Repeat("]", 33)).find("nested deeper than 32"),
            std::string::npos);
  // Without their ends: the scanner's limit may be met first.
  for (const char* opening : {"[", "{a: ", "- ", "? ", "[{a: "}) {
    const std::string errors = ErrorsOf(Repeat(opening, 100'000));
    EXPECT_TRUE(errors.find("nested deeper than 32") != std::string::npos ||
                errors.find("is longer than 131072 bytes") != std::string::npos)
        << opening << errors;
  }
}

TEST(CFG_04_HostileYaml, OneFlowCollectionIsLimited) {
  YamlLimits limits;
  limits.flow = 8192;
  const std::string small = "- [" + Repeat("x, ", 1000) + "y]\n";
  EXPECT_TRUE(Parse(Repeat(small, 10), limits).errors.empty());
  const Parsed large = Parse("- 1\n- [" + Repeat("x, ", 4000) + "y]\n", limits);
  ASSERT_EQ(large.errors.size(), 1u);
  EXPECT_EQ(large.errors[0].line, 1);  // of the last value before it
  EXPECT_NE(large.errors[0].message.find("longer than 8192 bytes; use block style"),
            std::string::npos);
}

TEST(CFG_04_HostileYaml, SizeAndNodesAreLimited) {
  YamlLimits limits;
  limits.nodes = 100;
  limits.size = 1000;
  EXPECT_TRUE(Parse("[" + Repeat("x,", 99) + "]", limits).errors.empty());
  ASSERT_EQ(Parse("[" + Repeat("x,", 100) + "]", limits).errors.size(), 1u);
  EXPECT_NE(Parse(std::string(1001, ' '), limits).errors[0].message.find("longer than 1000"),
            std::string::npos);
}

TEST(CFG_04_HostileYaml, FullFilesOfOneTokenEndInTime) {
  for (const char* token :
       {"[",   "{",   "]",     "- ",    "? ",     ": ",    "a: ",  "\"", "'",  "#",  "&a ",
        "*a ", "!a ", "%",     "| ",    "> ",     "a\n",   "a:\n", " ",  "\t", "\\", ",",
        "x,",  "[x,", "---\n", "...\n", "a: b\n", "- a\n", "&",    "@",  "`"}) {
    const std::string text = Repeat(token, (size_t{1} << 16) / std::string_view(token).size());
    const SteadyTime begin = SystemClock().Steady();
    for (const char* before : {"", "[", "a: "}) Parse(before + text);
    // 30 times what it takes: anything that is not linear needs minutes.
    EXPECT_LT(SystemClock().Steady() - begin, absl::Seconds(10)) << token;
  }
}

TEST(CFG_04_HostileYaml, ErrorsAreLimited) {
  std::string text;
  for (int i = 0; i < 5000; ++i) absl::StrAppend(&text, "a", i, ": !t x\n");
  EXPECT_LE(Parse(text).errors.size(), ConfigErrors::kLimit + 1);
}

}  // namespace
}  // namespace cohost::supervisor
