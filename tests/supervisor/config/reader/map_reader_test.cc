// SPDX-License-Identifier: Apache-2.0
#include "supervisor/config/reader/map_reader.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace cohost::supervisor {
namespace {

constexpr Key kInnerKeys[] = {
    {.name = "size", .type = KeyType::kBytes, .least = "1Ki", .most = "1Mi"},
};
constexpr Block kInner = {"outer.inner", "", kInnerKeys};
constexpr Key kOuterKeys[] = {
    {.name = "name", .type = KeyType::kName, .state = KeyState::kRequired},
    {.name = "flag", .type = KeyType::kBoolean},
    {.name = "count", .type = KeyType::kInteger, .least = "1", .most = "10"},
    {.name = "ratio", .type = KeyType::kNumber, .least = "0", .most = "1"},
    {.name = "wait", .type = KeyType::kDuration, .least = "1s", .most = "1h"},
    {.name = "mode", .type = KeyType::kMode},
    {.name = "text", .type = KeyType::kText},
    {.name = "texts", .type = KeyType::kText, .shape = Shape::kList},
    {.name = "table", .type = KeyType::kText, .shape = Shape::kTable},
    {.name = "choice", .type = KeyType::kChoice, .choices = "one|two", .reserved_choices = "three"},
    {.name = "choices", .type = KeyType::kChoice, .shape = Shape::kList, .choices = "one|two"},
    {.name = "inner", .type = KeyType::kMap, .block = &kInner},
    {.name = "inners", .type = KeyType::kMap, .shape = Shape::kList, .block = &kInner},
    {.name = "later", .type = KeyType::kText, .state = KeyState::kReserved},
};
constexpr Block kOuter = {"outer", "", kOuterKeys};

class MapReaderTest : public ::testing::Test {
 protected:
  // A reader of `text`, a YAML document; the key `name` is there unless it is in it.
  MapReader& Open(const std::string& text) {
    const bool named = text.find("name:") != std::string::npos;
    root_ = ParseYaml(named ? text : "name: x\n" + text, "file.yaml", {}, errors_);
    EXPECT_TRUE(errors_.empty()) << "not the YAML that the test means";
    return reader_.emplace(root_, kOuter, "outer", file_, context_);
  }
  // The mistakes so far: "line:column path".
  std::vector<std::string> Mistakes() {
    std::vector<std::string> mistakes;
    for (const ConfigError& error : errors_.Take()) {
      EXPECT_EQ(error.file, "file.yaml");
      EXPECT_FALSE(error.message.empty());
      mistakes.push_back(std::to_string(error.line) + ":" + std::to_string(error.column) + " " +
                         error.key_path);
    }
    return mistakes;
  }
  using Strings = std::vector<std::string>;

  ConfigErrors errors_;
  ReadContext context_{errors_};
  const SourceFile file_{"file.yaml", "/folder"};
  YamlNode root_;
  std::optional<MapReader> reader_;
};

TEST_F(MapReaderTest, ReadsEveryTypeWithoutAComplaint) {
  MapReader& reader = Open(
      "flag: true\ncount: 10\nratio: 0.5\nwait: 90s\nmode: \"0640\"\ntext: a b\n"
      "texts: [x, y]\ntable: {a: 1, b: 2}\nchoice: two\nchoices: [one]\n"
      "inner: {size: 4Ki}\n");
  bool flag = false;
  reader.Read("flag", flag);
  EXPECT_TRUE(flag);
  int count = 0;
  reader.Read("count", count);
  EXPECT_EQ(count, 10);
  double ratio = 0;
  reader.Read("ratio", ratio);
  EXPECT_EQ(ratio, 0.5);
  absl::Duration wait;
  reader.Read("wait", wait);
  EXPECT_EQ(wait, absl::Seconds(90));
  mode_t mode = 0;
  reader.ReadMode("mode", mode);
  EXPECT_EQ(mode, 0640U);
  std::optional<std::string> text;
  reader.Read("text", text);
  EXPECT_EQ(text, "a b");
  Strings texts;
  reader.Read("texts", texts);
  EXPECT_EQ(texts, (Strings{"x", "y"}));
  std::map<std::string, std::string> table;
  reader.Read("table", table);
  EXPECT_EQ(table["b"], "2");
  EXPECT_EQ(reader.ReadChoice("choice"), "two");
  EXPECT_EQ(reader.ReadChoices("choices").size(), 1U);
  Bytes size;
  reader.Map("inner")->Read("size", size);
  EXPECT_EQ(size, KiB(4));
  EXPECT_EQ(Mistakes(), Strings());
}

TEST_F(MapReaderTest, KeysAreCheckedWhenItIsMade) {
  Open("name: x\ncuont: 3\nlater: y\ntext:\n");
  EXPECT_EQ(Mistakes(), (Strings{"2:1 outer.cuont", "3:1 outer.later", "4:1 outer.text"}));
  root_ = ParseYaml("text: y\n", "file.yaml", {}, errors_);
  MapReader(root_, kOuter, "", file_, context_);
  EXPECT_EQ(Mistakes(), Strings{"1:1 "}) << "a missing key belongs to the map";
}

TEST_F(MapReaderTest, WhatIsNoMapIsOneMistake) {
  for (const std::string text : {"[name, x]", "name"}) {
    root_ = ParseYaml(text, "file.yaml", {}, errors_);
    MapReader reader(root_, kOuter, "outer", file_, context_);
    EXPECT_EQ(Mistakes(), Strings{"1:1 outer"}) << text;
    EXPECT_FALSE(reader.Has("name"));
    EXPECT_FALSE(reader.Map("inner").has_value());
  }
}

TEST_F(MapReaderTest, AWrongValueIsReportedAndLeavesItsDestination) {
  MapReader& reader = Open(
      "flag: yes\ncount: 11\nratio: 2\nwait: 1ms\nmode: 0640\ntext: [a]\ntexts: a\n"
      "table: [a]\nchoice: on\n");
  bool flag = true;
  int count = 7;
  double ratio = 0.25;
  absl::Duration wait = absl::Seconds(3);
  mode_t mode = 0600;
  std::string text = "kept";
  Strings texts = {"kept"};
  std::map<std::string, std::string> table = {{"kept", "1"}};
  reader.Read("flag", flag);
  reader.Read("count", count);
  reader.Read("ratio", ratio);
  reader.Read("wait", wait);
  reader.ReadMode("mode", mode);
  reader.Read("text", text);
  reader.Read("texts", texts);
  reader.Read("table", table);
  EXPECT_EQ(reader.ReadChoice("choice"), std::nullopt);
  EXPECT_TRUE(flag);
  EXPECT_EQ(count, 7);
  EXPECT_EQ(ratio, 0.25);
  EXPECT_EQ(wait, absl::Seconds(3));
  EXPECT_EQ(mode, 0600U);
  EXPECT_EQ(text, "kept");
  EXPECT_EQ(texts, Strings{"kept"});
  EXPECT_EQ(table.size(), 1U);
  EXPECT_EQ(Mistakes(), (Strings{"2:7 outer.flag", "3:8 outer.count", "4:8 outer.ratio",
                                 "5:7 outer.wait", "6:7 outer.mode", "7:7 outer.text",
                                 "8:8 outer.texts", "9:8 outer.table", "10:9 outer.choice"}));
}

TEST_F(MapReaderTest, WhatIsAbsentOrEmptyLeavesItsDestinationToo) {
  MapReader& reader = Open("texts:\n");
  EXPECT_EQ(Mistakes(), Strings{"2:1 outer.texts"});
  Strings texts = {"kept"};
  uint32_t count = 7;
  std::optional<std::string> text;
  reader.Read("texts", texts);
  reader.Read("count", count);
  reader.Read("text", text);
  EXPECT_EQ(texts, Strings{"kept"});
  EXPECT_EQ(count, 7U);
  EXPECT_EQ(text, std::nullopt);
  EXPECT_TRUE(reader.MapList("inners").empty());
  EXPECT_EQ(Mistakes(), Strings()) << "told once";
}

TEST_F(MapReaderTest, AnEmptyListIsAValue) {
  MapReader& reader = Open("texts: []\n");
  Strings texts = {"default"};
  reader.Read("texts", texts);
  EXPECT_TRUE(texts.empty());
  EXPECT_EQ(Mistakes(), Strings());
}

TEST_F(MapReaderTest, EachWrongItemIsNamedByItsIndex) {
  MapReader& reader = Open(
      "texts: [a, \"\", [b], c]\nchoices: [one, five]\ntable: {\"a b\": x, c: [1], d: y}\n"
      "inners:\n- {size: 1Ki}\n- {size: 2Mi}\n- {siez: 1Ki}\n- x\n");
  Strings texts;
  reader.Read("texts", texts);
  EXPECT_EQ(texts, (Strings{"a", "c"}));
  EXPECT_EQ(reader.ReadChoices("choices").size(), 1U);
  std::map<std::string, std::string> table;
  reader.Read("table", table);
  EXPECT_EQ(table.count("d"), 1U);
  for (MapReader& inner : reader.MapList("inners")) {
    Bytes size;
    inner.Read("size", size);
  }
  EXPECT_EQ(Mistakes(),
            (Strings{"2:12 outer.texts[1]", "2:16 outer.texts[2]", "3:16 outer.choices[1]",
                     "4:9 outer.table.a b", "4:22 outer.table.c", "7:10 outer.inners[1].size",
                     "8:4 outer.inners[2].siez", "9:3 outer.inners[3]"}));
}

TEST_F(MapReaderTest, PlacesAreThoseOfValuesForLaterComplaints) {
  MapReader& reader = Open("text: abc\ntexts:\n  - a\n  - b\n");
  const Place text = reader.PlaceOf("text");
  EXPECT_EQ(text.line, 2);
  EXPECT_EQ(text.column, 7);
  EXPECT_EQ(text.key_path, "outer.text");
  const Place absent = reader.PlaceOf("count");
  EXPECT_EQ(absent.line, 1) << "of the map";
  EXPECT_EQ(absent.key_path, "outer");
  const auto items = reader.Items("texts");
  ASSERT_EQ(items.size(), 2U);
  EXPECT_EQ(reader.ItemPlace("texts", 1, *items[1]).key_path, "outer.texts[1]");
  EXPECT_EQ(reader.ItemPlace("texts", 1, *items[1]).line, 5);
}

}  // namespace
}  // namespace cohost::supervisor
