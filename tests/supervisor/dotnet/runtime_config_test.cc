// SPDX-License-Identifier: Apache-2.0
#include "supervisor/dotnet/runtime_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/supervisor/dotnet/dotnet_folder.h"

namespace cohost::supervisor {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string Resolved(const std::string& wanted, RollForward roll_forward,
                     const std::vector<std::string>& installed) {
  std::set<ReleaseVersion> versions;
  for (const std::string& version : installed) versions.insert(*ReleaseVersion::Parse(version));
  const FrameworkReference reference{"x", *ReleaseVersion::Parse(wanted), roll_forward};
  const auto resolved = reference.Resolve(versions);
  return resolved ? resolved->ToString() : "none";
}

TEST(FrameworkReference, IsResolvedAsTheHostDoes) {
  const std::vector<std::string> installed = {"8.0.20",  "8.0.22", "9.0.3", "10.0.2",
                                              "10.0.12", "10.1.0", "10.1.3"};
  using enum RollForward;
  EXPECT_EQ(Resolved("8.0.0", kMinor, installed), "8.0.22");
  EXPECT_EQ(Resolved("8.0.0", kDisable, installed), "none");
  EXPECT_EQ(Resolved("8.0.20", kDisable, installed), "8.0.20");
  EXPECT_EQ(Resolved("8.0.99", kMinor, installed), "none");
  EXPECT_EQ(Resolved("7.0.0", kMinor, installed), "none");
  EXPECT_EQ(Resolved("7.0.0", kMajor, installed), "8.0.22");
  EXPECT_EQ(Resolved("10.0.0", kLatestPatch, installed), "10.0.12");
  EXPECT_EQ(Resolved("10.0.0", kMinor, installed), "10.0.12");
  EXPECT_EQ(Resolved("10.0.13", kMinor, installed), "10.1.3");
  EXPECT_EQ(Resolved("10.0.13", kLatestPatch, installed), "none");
  EXPECT_EQ(Resolved("10.0.0", kLatestMinor, installed), "10.1.3");
  EXPECT_EQ(Resolved("8.0.0", kLatestMajor, installed), "10.1.3");
  EXPECT_EQ(Resolved("11.0.0", kLatestMajor, installed), "none");
}

TEST(FrameworkReference, APreviewIsForWhoAsksOrHasNothingElse) {
  EXPECT_EQ(Resolved("11.0.0", RollForward::kMinor, {"11.0.1-rc.1"}), "11.0.1-rc.1");
  EXPECT_EQ(Resolved("11.0.0", RollForward::kMinor, {"11.0.1", "11.0.2-rc.1"}), "11.0.1");
  EXPECT_EQ(Resolved("11.0.0-preview.1", RollForward::kMinor, {"11.0.1", "11.0.2-rc.1"}),
            "11.0.2-rc.1");
}

TEST(RuntimeConfig, ReadsFrameworksAndProperties) {
  const auto config = RuntimeConfig::Parse(DotnetFolder::Config(
      "10.0.0",
      R"(, "rollForward": "latestmajor", "configProperties": {"A": true, "B": "x"} /* why */)"));
  ASSERT_TRUE(config.ok()) << config.status();
  ASSERT_THAT(config->frameworks, SizeIs(2));
  EXPECT_EQ(config->frameworks[1].name, "Microsoft.AspNetCore.App");
  EXPECT_EQ(config->frameworks[1].version.ToString(), "10.0.0");
  EXPECT_EQ(config->frameworks[1].roll_forward, RollForward::kLatestMajor);
  EXPECT_EQ(config->properties.at("A"), "true");
  EXPECT_EQ(config->properties.at("B"), "\"x\"");
  EXPECT_FALSE(config->is_self_contained);
  EXPECT_NE(config->Find("Microsoft.NETCore.App"), nullptr);
  EXPECT_EQ(config->Find("Other"), nullptr);
}

TEST(RuntimeConfig, ReadsTheOldFormsToo) {
  const auto config = RuntimeConfig::Parse(
      "\xef\xbb\xbf{\"runtimeOptions\": {\"rollForwardOnNoCandidateFx\": 2, \"framework\": "
      "{\"name\": \"Microsoft.NETCore.App\", \"version\": \"3.1.0\"}}}");
  ASSERT_TRUE(config.ok()) << config.status();
  ASSERT_THAT(config->frameworks, SizeIs(1));
  EXPECT_EQ(config->frameworks[0].roll_forward, RollForward::kMajor);
}

TEST(RuntimeConfig, KnowsWhoBringsARuntime) {
  const auto config = RuntimeConfig::Parse(R"({"runtimeOptions": {"includedFrameworks": []}})");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_TRUE(config->is_self_contained);
  EXPECT_THAT(config->frameworks, IsEmpty());
}

TEST(RuntimeConfig, RefusesWhatItCannotTrust) {
  for (const std::string text :
       {"", "x", "[]", "{}", R"({"runtimeOptions": 1})",
        R"({"runtimeOptions": {"framework": {"name": "x"}}})",
        R"({"runtimeOptions": {"framework": {"name": "a\nb", "version": "1.0.0"}}})",
        R"({"runtimeOptions": {"framework": {"name": "../x", "version": "1.0.0"}}})",
        R"({"runtimeOptions": {"frameworks": ["x"]}})",
        R"({"runtimeOptions": {"rollForward": "Sideways"}})"}) {
    EXPECT_EQ(RuntimeConfig::Parse(text).status().code(), absl::StatusCode::kInvalidArgument)
        << text;
  }
  std::string deep = R"({"runtimeOptions": {}, "x": )";
  for (int i = 0; i < 100'000; ++i) deep += '[';
  EXPECT_EQ(RuntimeConfig::Parse(deep).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(RuntimeConfig, AFileThatIsMissingOrTooLargeIsSaidSo) {
  const DotnetFolder folder;
  EXPECT_TRUE(absl::IsNotFound(RuntimeConfig::Read(folder.path("none.json")).status()));
  folder.Write("large.json", std::string(2 << 20, ' '));
  EXPECT_FALSE(RuntimeConfig::Read(folder.path("large.json")).ok());
  folder.Write("bad.json", "{");
  EXPECT_THAT(std::string(RuntimeConfig::Read(folder.path("bad.json")).status().message()),
              HasSubstr("bad.json"));
}

}  // namespace
}  // namespace cohost::supervisor
