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

TEST(Invocation, ADumpHasAFileASlotAndAKind) {
  const Parsed parsed =
      ParseCommandLine({"dump", "--slot", "2", "orders", "/a/b/../c", "--kind", "mini"}, nullptr);
  ASSERT_TRUE(parsed.invocation) << parsed.text;
  EXPECT_EQ(parsed.invocation->name, "orders");
  EXPECT_EQ(parsed.invocation->path, "/a/c");
  EXPECT_EQ(parsed.invocation->slot, 2u);
  EXPECT_EQ(parsed.invocation->dump_kind, "mini");
  EXPECT_EQ(ParseCommandLine({"dump", "orders"}, nullptr).invocation->dump_kind, "heap");
  EXPECT_FALSE(ParseCommandLine({"dump", "orders", "--kind", "some"}, nullptr).invocation);
  EXPECT_FALSE(ParseCommandLine({"dump", "orders", "--slot", "-1"}, nullptr).invocation);
  EXPECT_FALSE(ParseCommandLine({"dump"}, nullptr).invocation);
}

TEST(Invocation, ATraceHasADurationAndProviders) {
  const auto usual = ParseCommandLine({"trace", "orders"}, nullptr).invocation;
  ASSERT_TRUE(usual);
  EXPECT_EQ(usual->duration, absl::Seconds(10));
  EXPECT_TRUE(usual->providers.empty());
  const Parsed parsed = ParseCommandLine({"trace", "orders", "--duration", "2m", "--provider",
                                          "One:0x1f:5", "--provider", "Two", "out.nettrace"},
                                         nullptr);
  ASSERT_TRUE(parsed.invocation) << parsed.text;
  EXPECT_EQ(parsed.invocation->duration, absl::Minutes(2));
  EXPECT_TRUE(parsed.invocation->path.ends_with("/out.nettrace"));
  ASSERT_EQ(parsed.invocation->providers.size(), 2u);
  EXPECT_EQ(parsed.invocation->providers[0].name, "One");
  EXPECT_EQ(parsed.invocation->providers[0].keywords, 0x1fu);
  EXPECT_EQ(parsed.invocation->providers[0].level, 5u);
  EXPECT_EQ(parsed.invocation->providers[1].name, "Two");
  EXPECT_EQ(parsed.invocation->providers[1].keywords, UINT64_MAX);
  for (const char* wrong : {":1", "P:x", "P:1:0", "P:1:6", "P:1:1:1"}) {
    EXPECT_FALSE(ParseCommandLine({"trace", "orders", "--provider", wrong}, nullptr).invocation)
        << wrong;
  }
  for (const char* wrong : {"0", "10", "1ms", "2h"}) {
    EXPECT_FALSE(ParseCommandLine({"trace", "orders", "--duration", wrong}, nullptr).invocation)
        << wrong;
  }
}

TEST(Invocation, CountersGoOnUntilTheyAreEnded) {
  const auto usual = ParseCommandLine({"counters", "orders"}, nullptr).invocation;
  ASSERT_TRUE(usual);
  EXPECT_FALSE(usual->duration);
  EXPECT_EQ(usual->interval, absl::Seconds(1));
  EXPECT_EQ(
      ParseCommandLine({"counters", "orders", "--interval", "5s"}, nullptr).invocation->interval,
      absl::Seconds(5));
  EXPECT_FALSE(ParseCommandLine({"counters", "orders", "file"}, nullptr).invocation);
}

TEST(Invocation, ModulesHasCommandsOfItsOwn) {
  EXPECT_EQ(ParseCommandLine({"modules"}, nullptr).invocation->command, "modules");
  const Parsed sign =
      ParseCommandLine({"modules", "sign", "--key", "k", "a.so", "b.so", "-o", "json"}, nullptr);
  ASSERT_TRUE(sign.invocation) << sign.text;
  EXPECT_EQ(sign.invocation->command, "modules sign");
  EXPECT_EQ(sign.invocation->key, "k");
  EXPECT_EQ(sign.invocation->files, (std::vector<std::string>{"a.so", "b.so"}));
  EXPECT_EQ(sign.invocation->output, OutputFormat::kJson);
  const Parsed key = ParseCommandLine({"modules", "new-key", "release"}, nullptr);
  ASSERT_TRUE(key.invocation) << key.text;
  EXPECT_EQ(key.invocation->command, "modules new-key");
  EXPECT_EQ(key.invocation->name, "release");
  for (const auto& arguments : {std::vector<std::string>{"modules", "sign", "a.so"},
                                std::vector<std::string>{"modules", "verify", "--key", "k"},
                                std::vector<std::string>{"modules", "new-key"},
                                std::vector<std::string>{"modules", "sing"}}) {
    EXPECT_FALSE(ParseCommandLine(arguments, nullptr).invocation);
  }
  EXPECT_THAT(ParseCommandLine({"modules", "sing"}, nullptr).text,
              ::testing::HasSubstr("did you mean 'modules sign'?"));
  EXPECT_THAT(ParseCommandLine({"modules", "verify"}, nullptr).text,
              ::testing::HasSubstr("see `cohostctl modules verify --help`"));
  EXPECT_THAT(ParseCommandLine({"modules", "sign", "--help"}, nullptr).text,
              ::testing::HasSubstr("cohostctl modules sign"));
  EXPECT_THAT(ParseCommandLine({"modules", "--help"}, nullptr).text,
              ::testing::HasSubstr("new-key"));
}

TEST(Invocation, ExportAndImportTakeAFileAndTheirOptions) {
  const Parsed out = ParseCommandLine({"export", "shop.cohost", "--modules"}, nullptr);
  ASSERT_TRUE(out.invocation) << out.text;
  EXPECT_EQ(out.invocation->name, "shop.cohost");
  EXPECT_TRUE(out.invocation->modules);
  const Parsed in = ParseCommandLine(
      {"import", "--modules-to", "/srv/a/../files/", "shop.cohost", "--yes"}, nullptr);
  ASSERT_TRUE(in.invocation) << in.text;
  EXPECT_EQ(in.invocation->command, "import");
  EXPECT_EQ(in.invocation->name, "shop.cohost");
  EXPECT_EQ(in.invocation->folder, "/srv/files");
  EXPECT_TRUE(in.invocation->yes);
  EXPECT_FALSE(in.invocation->dry_run);
  EXPECT_TRUE(ParseCommandLine({"import", "a", "-n"}, nullptr).invocation->dry_run);
  EXPECT_FALSE(ParseCommandLine({"import"}, nullptr).invocation);
  EXPECT_FALSE(ParseCommandLine({"export"}, nullptr).invocation);
  EXPECT_FALSE(ParseCommandLine({"export", "a", "--yes"}, nullptr).invocation);
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
