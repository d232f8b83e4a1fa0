// SPDX-License-Identifier: Apache-2.0
#include "supervisor/config/yaml/scalar.h"

#include "tests/supervisor/config/config_fixture.h"

namespace cohost::supervisor {
namespace {

YamlNode Plain(const std::string& text) {
  YamlNode node;
  node.kind = YamlNode::Kind::kScalar;
  node.text = text;
  return node;
}

YamlNode InQuotes(const std::string& text) {
  YamlNode node = Plain(text);
  node.quoted = true;
  return node;
}

TEST(CFG_02_ImplicitTypes, OnlyTrueAndFalseAreBooleans) {
  EXPECT_EQ(*ScalarToBoolean(Plain("true")), true);
  EXPECT_EQ(*ScalarToBoolean(Plain("false")), false);
  for (const char* text : {"on", "off", "yes", "no", "y", "n", "On", "NO", "True", "FALSE", "1",
                           "0", "null", "~", ""}) {
    EXPECT_FALSE(ScalarToBoolean(Plain(text)).ok()) << text;
  }
  EXPECT_FALSE(ScalarToBoolean(InQuotes("true")).ok());
  EXPECT_EQ(ScalarToBoolean(Plain("no")).status().message(),
            "expected true or false, not 'no': write false");
}

TEST(CFG_02_ImplicitTypes, IntegersAreDecimal) {
  EXPECT_EQ(*ScalarToInteger(Plain("0")), 0);
  EXPECT_EQ(*ScalarToInteger(Plain("-1")), -1);
  EXPECT_EQ(*ScalarToInteger(Plain("99999999999")), 99999999999);
  const std::pair<const char*, const char*> refused[] = {
      {"010", "leading zeros mean octal"},      {"0755", "leading zeros mean octal"},
      {"0o10", "write it in decimal"},          {"0x10", "write it in decimal"},
      {"1_000", "write it without '_'"},        {"1e3", "write it without an exponent"},
      {"+1", "write it without '+'"},           {"1:30", "base 60"},
      {"1.5", "a fraction is not allowed"},     {"30s", "expected a whole number, not '30s'"},
      {"", "expected a whole number"},          {"-", "expected a whole number"},
      {".", "expected a whole number"},         {" 1", "expected a whole number"},
      {"99999999999999999999999", "too large"},
  };
  for (const auto& [text, message] : refused) {
    const absl::Status status = ScalarToInteger(Plain(text)).status();
    EXPECT_NE(status.message().find(message), absl::string_view::npos) << text << ": " << status;
  }
  EXPECT_FALSE(ScalarToInteger(InQuotes("1")).ok());
}

TEST(CFG_02_ImplicitTypes, NumbersAreDecimal) {
  EXPECT_EQ(*ScalarToNumber(Plain("1.5")), 1.5);
  EXPECT_EQ(*ScalarToNumber(Plain("2")), 2.0);
  EXPECT_EQ(*ScalarToNumber(Plain("0.05")), 0.05);
  for (const char* text : {".5", "1.", "1e3", "1.5e3", "inf", ".inf", "nan", "0x1p3", "01.5", "1,5",
                           "+1.5", "1.5.5", ""}) {
    EXPECT_FALSE(ScalarToNumber(Plain(text)).ok()) << text;
  }
}

TEST(CFG_02_ImplicitTypes, ModesAreQuotedOctal) {
  EXPECT_EQ(*ScalarToMode(InQuotes("0660")), 0660u);
  EXPECT_EQ(*ScalarToMode(InQuotes("777")), 0777u);
  EXPECT_FALSE(ScalarToMode(Plain("0660")).ok());
  for (const char* text : {"", "7", "0o660", "0888", "04755", "4755", "-660", "rw-rw----"}) {
    EXPECT_FALSE(ScalarToMode(InQuotes(text)).ok()) << text;
  }
}

TEST(CFG_02_ImplicitTypes, NamesHaveTheirCharacters) {
  for (const char* name : {"no", "on", "1e3", "0755", "null", "1_000", "_x", "a.b-c"}) {
    EXPECT_TRUE(CheckName(name).ok()) << name;
  }
  EXPECT_TRUE(CheckName(std::string(63, 'a')).ok());
  for (const char* name : {"", "~", "-a", ".a", "a b", "a/b", "a\"b", "a\nb", "\xc3\xa4"}) {
    EXPECT_FALSE(CheckName(name).ok()) << name;
  }
  EXPECT_NE(CheckName(std::string(64, 'a')).message().find("(it has 64)"), absl::string_view::npos);
}

TEST(Quoted, CutsAndCleansWhatAMessageShows) {
  EXPECT_EQ(Quoted("a\nb"), "'a?b'");
  EXPECT_EQ(Quoted(std::string(119, 'a') + "\xc3\xa4"), "'" + std::string(119, 'a') + "...'");
  EXPECT_LT(Quoted(std::string(10'000, 'a')).size(), 130u);
}

using CFG_02_Deployment = ConfigTest;

TEST_F(CFG_02_Deployment, NamesStayTextAsWritten) {
  std::string text = "version: 1\nservices:\n";
  const std::vector<std::string> names = {"no",   "on",    "1e3",  "0755",
                                          "null", "1_000", "true", "1.5"};
  for (size_t i = 0; i < names.size(); ++i) {
    text += "- {name: " + names[i] +
            ", module: m.so, listen: [\"http://127.0.0.1:" + std::to_string(i + 1) +
            "\"], settings: {v: " + names[i] + "}}\n";
  }
  const LoadResult result = LoadText(text);
  ASSERT_TRUE(result.deployment.has_value()) << AllErrors(result);
  for (size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(result.deployment->services[i].name, names[i]);
    EXPECT_EQ(result.deployment->services[i].settings[0].second, names[i]);
  }
}

TEST_F(CFG_02_Deployment, ValuesOfAnotherTypeAreErrorsWithTheirPlace) {
  const LoadResult result = LoadText(OneService(
      "  limits: {queue: 010, concurrency: -1, connections: 99999999999, body_size: 1.5}\n"
      "  health: {interval: 1:30, timeout: 30, path: healthz}\n"
      "  load: {cpu: 1e-3, memory: 8MB, peak: 9-18}\n"
      "  overlap: no\n"
      "  warmup: /\n"));
  const std::string limits = "services[0].limits.", health = "services[0].health.",
                    load = "services[0].load.";
  ExpectError(result, 6, 19, limits + "queue", "octal");
  ExpectError(result, 6, 37, limits + "concurrency", "'-1' is out of range, allowed: 1 to 65536");
  ExpectError(result, 6, 54, limits + "connections", "out of range, allowed: 1 to 65536");
  ExpectError(result, 6, 78, limits + "body_size", "");
  ExpectError(result, 7, 22, health + "interval", "");
  ExpectError(result, 7, 37, health + "timeout", "");
  ExpectError(result, 7, 47, health + "path", "expected the target of a request");
  ExpectError(result, 8, 15, load + "cpu", "exponent");
  ExpectError(result, 8, 29, load + "memory", "");
  ExpectError(result, 8, 40, load + "peak", "");
  ExpectError(result, 9, 12, "services[0].overlap", "write false");
  ExpectError(result, 10, 11, "services[0].warmup", "expected a list, not text");
  EXPECT_EQ(result.errors.size(), 12u) << AllErrors(result);
}

}  // namespace
}  // namespace cohost::supervisor
