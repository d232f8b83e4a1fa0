// SPDX-License-Identifier: Apache-2.0
#include "supervisor/config/yaml/yaml_writer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "supervisor/config/yaml/yaml_tree.h"

namespace cohost::supervisor {
namespace {

YamlNode Parse(const std::string& text) {
  ConfigErrors errors;
  YamlNode root = ParseYaml(text, "x.yaml", YamlLimits{}, errors);
  for (const ConfigError& error : errors.Take()) ADD_FAILURE() << Render(error) << "\n" << text;
  return root;
}

// What each text is read back as; `Entry` has it as key and as value.
std::vector<std::string> HardTexts() {
  std::string all_ascii;
  for (char c = 0; c >= 0 && c < 0x7f; ++c) all_ascii += c;
  return {"no",
          "0755",
          "1e3",
          "null",
          "~",
          "<<",
          "1:30",
          " ends with spaces  ",
          "# no comment",
          "- no item",
          "key: value",
          "several\nlines\r\n\n",
          "a\ttab",
          "\"quotes\" and 'apostrophes'",
          "back\\slash\\n",
          "${env:HOME} $${ %",
          "\xc3\xbc \xe2\x82\xac \xf0\x9f\x98\x80",
          "\xc2\x80 \xc2\x85 \xc2\x9f \xc2\xa0",
          "\xe2\x80\xa8 \xe2\x80\xa9 \xef\xbb\xbf",
          "\xef\xbf\xbe \xf4\x8f\xbf\xbf",
          all_ascii + '\x7f',
          std::string(3000, 'x'),
          std::string(600, '\n')};
}

TEST(YamlWriter, EveryTextIsReadBackAsItIs) {
  YamlWriter out;
  out.Open("entries");
  for (const std::string& text : HardTexts()) out.Entry(text, text);
  out.Close();
  out.Text("empty", "");
  const YamlNode root = Parse(out.text());
  const YamlNode* entries = root.Find("entries");
  ASSERT_NE(entries, nullptr);
  ASSERT_EQ(entries->entry_count(), HardTexts().size());
  for (size_t i = 0; i < entries->entry_count(); ++i) {
    EXPECT_EQ(entries->key(i).text, HardTexts()[i]);
    EXPECT_EQ(entries->value(i).text, HardTexts()[i]);
    EXPECT_TRUE(entries->value(i).quoted);
  }
  EXPECT_EQ(root.Find("empty")->kind, YamlNode::Kind::kScalar);
}

TEST(YamlWriter, ListsAndMapsNest) {
  YamlWriter out;
  out.Word("version", "1");
  out.Open("groups");
  out.OpenItem();
  out.Text("name", "a");
  out.Open("match");
  out.Words("class", {"idle", "batch"});
  out.Close();
  out.Texts("none", {});
  out.Close();
  out.OpenItem();
  out.Texts("first", {"x"});
  out.Close();
  out.Close();
  out.Word("last", "true");
  EXPECT_EQ(out.text(),
            "version: 1\n"
            "groups:\n"
            "  - name: \"a\"\n"
            "    match:\n"
            "      class:\n"
            "        - idle\n"
            "        - batch\n"
            "    none: []\n"
            "  - first:\n"
            "      - \"x\"\n"
            "last: true\n");
  const YamlNode root = Parse(out.text());
  ASSERT_EQ(root.Find("groups")->children.size(), 2u);
  EXPECT_EQ(root.Find("groups")->children[0].Find("none")->kind, YamlNode::Kind::kList);
}

}  // namespace
}  // namespace cohost::supervisor
