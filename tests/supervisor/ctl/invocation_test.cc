// SPDX-License-Identifier: Apache-2.0
#include "supervisor/ctl/invocation.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cohost::supervisor {
namespace {

TEST(Invocation, TheSocketIsTheOptionElseTheVariableElseTheDefault) {
  EXPECT_EQ(ParseCommandLine({"--socket", "/a", "status"}, "/b").invocation->socket, "/a");
  EXPECT_EQ(ParseCommandLine({"status"}, "/b").invocation->socket, "/b");
  EXPECT_EQ(ParseCommandLine({"status"}, "").invocation->socket, "/run/cohost/admin.sock");
  EXPECT_EQ(ParseCommandLine({"status"}, nullptr).invocation->socket, "/run/cohost/admin.sock");
}

TEST(Invocation, OptionsStandBeforeOrAfterTheCommand) {
  for (const auto& arguments :
       {std::vector<std::string>{"-o", "json", "--timeout", "2s", "services", "catalog"},
        std::vector<std::string>{"services", "catalog", "-o", "json", "--timeout", "2s"}}) {
    const Parsed parsed = ParseCommandLine(arguments, nullptr);
    ASSERT_TRUE(parsed.invocation) << parsed.text;
    EXPECT_EQ(parsed.invocation->command, "services");
    EXPECT_EQ(parsed.invocation->name, "catalog");
    EXPECT_EQ(parsed.invocation->output, OutputFormat::kJson);
    EXPECT_EQ(parsed.invocation->timeout, absl::Seconds(2));
  }
}

TEST(Invocation, ATargetIsAGroupOrASlotOfIt) {
  const auto target = [](const char* text) {
    return ParseCommandLine({"recycle", text}, nullptr).invocation;
  };
  EXPECT_EQ(target("front")->name, "front");
  EXPECT_FALSE(target("front")->slot);
  EXPECT_EQ(target("front/3")->name, "front");
  EXPECT_EQ(target("front/3")->slot, 3u);
  EXPECT_FALSE(target("front/"));
  EXPECT_FALSE(target("front/-1"));
  EXPECT_FALSE(target("front/99999999999"));
}

TEST(Invocation, MistakesAreOneAndNamed) {
  for (const auto& arguments :
       {std::vector<std::string>{}, std::vector<std::string>{"statsu"},
        std::vector<std::string>{"stop"}, std::vector<std::string>{"stop", "a", "b"},
        std::vector<std::string>{"status", "--nothing"},
        std::vector<std::string>{"status", "--timeout", "0"},
        std::vector<std::string>{"status", "--timeout", "5 minutes"}}) {
    const Parsed parsed = ParseCommandLine(arguments, nullptr);
    EXPECT_FALSE(parsed.invocation);
    EXPECT_EQ(parsed.exit_code, 1);
    EXPECT_THAT(parsed.text, ::testing::StartsWith("cohostctl: "));
  }
}

}  // namespace
}  // namespace cohost::supervisor
