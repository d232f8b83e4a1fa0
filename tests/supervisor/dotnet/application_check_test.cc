// SPDX-License-Identifier: Apache-2.0
#include "supervisor/dotnet/application_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "supervisor/dotnet/folder_check.h"
#include "supervisor/dotnet/sharing_rules.h"
#include "tests/supervisor/dotnet/dotnet_folder.h"

namespace cohost::supervisor {
namespace {

using enum Finding::Weight;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

AssemblyBytes Using(const std::vector<AssemblyBytes::Use>& uses) {
  AssemblyBytes bytes;
  bytes.uses = uses;
  return bytes;
}

class ApplicationCheckTest : public ::testing::Test {
 protected:
  Verdict Check(const std::string& app) const {
    const auto runtime = FindDotnetRuntime({.configured = folder_.root()});
    EXPECT_TRUE(runtime.ok()) << runtime.status();
    return CheckApplication(app, *runtime);
  }
  // The only finding, which has that weight.
  static std::string Only(const Verdict& verdict, Finding::Weight weight) {
    EXPECT_THAT(verdict.findings, SizeIs(1));
    EXPECT_THAT(verdict.Of(weight), SizeIs(1));
    return verdict.findings.empty() ? "" : verdict.findings[0].Text();
  }

  const DotnetFolder folder_;
};

TEST_F(ApplicationCheckTest, AnOrdinaryApplicationShares) {
  const Verdict verdict = Check(folder_.AddApplication());
  EXPECT_THAT(verdict.findings, IsEmpty());
  EXPECT_EQ(verdict.sharing(), Sharing::kShared);
}

TEST_F(ApplicationCheckTest, CallsThatReachNeighboursNeedAProcess) {
  const Verdict verdict = Check(folder_.AddApplication(Using({{"System", "Environment", "Exit"}})));
  EXPECT_EQ(verdict.sharing(), Sharing::kSolo);
  EXPECT_THAT(Only(verdict, kSolo), AllOf(HasSubstr("App.dll uses System.Environment.Exit"),
                                          HasSubstr("IHostApplicationLifetime")));
}

TEST_F(ApplicationCheckTest, WarningsDoNotKeepItFromSharing) {
  const Verdict verdict =
      Check(folder_.AddApplication(Using({{"System.Threading", "ThreadPool", "SetMinThreads"}})));
  EXPECT_EQ(verdict.sharing(), Sharing::kSharedWithWarnings);
  EXPECT_THAT(Only(verdict, kWarning), HasSubstr("the largest wish"));
}

TEST_F(ApplicationCheckTest, HostedServicesAreNoted) {
  const Verdict verdict = Check(
      folder_.AddApplication(Using({{"Microsoft.Extensions.Hosting", "BackgroundService", ""}})));
  EXPECT_EQ(verdict.sharing(), Sharing::kShared);
  EXPECT_THAT(Only(verdict, kNote), HasSubstr("hosted services"));
}

TEST_F(ApplicationCheckTest, ItsOtherProjectsCountAndPackagesDoNot) {
  const std::string app = folder_.AddApplication({}, "10.0.0", R"({"App.dll": {}, "Own.dll": {}})");
  folder_.Write("app/Own.dll", Using({{"System", "AppDomain", "GetAssemblies"}}).Build());
  folder_.Write("app/Package.dll", Using({{"System", "Environment", "Exit"}}).Build());
  EXPECT_THAT(Only(Check(app), kSolo), HasSubstr("Own.dll uses System.AppDomain.GetAssemblies"));
}

TEST_F(ApplicationCheckTest, EveryRuleIsFound) {
  for (const SharingRule& rule : SharingRules()) {
    const std::string use(rule.use);
    const size_t member = rule.is_base ? use.size() : use.rfind('.');
    const std::string type = use.substr(0, member);
    const size_t dot = type.rfind('.');
    const Verdict verdict =
        Check(folder_.AddApplication(Using({{type.substr(0, dot), type.substr(dot + 1),
                                             rule.is_base ? "" : use.substr(member + 1)}})));
    EXPECT_THAT(Only(verdict, rule.weight), HasSubstr(use));
  }
}

TEST_F(ApplicationCheckTest, AnotherFrameworkIsSharedWithThoseThatHaveIt) {
  folder_.AddVersion("11.0.1");
  const Verdict verdict = Check(folder_.AddApplication({}, "11.0.0"));
  EXPECT_EQ(verdict.sharing(), Sharing::kShared);
  EXPECT_EQ(FrameworkText(verdict.frameworks), "11.0.1");
  EXPECT_THAT(verdict.findings[0].Text(),
              AllOf(HasSubstr("Microsoft.NETCore.App 11.0.1"), HasSubstr("others have 10.0.12")));
}

TEST_F(ApplicationCheckTest, AnOlderFrameworkThanTheShimsIsRefused) {
  folder_.AddVersion("8.0.22");
  const Verdict verdict = Check(folder_.AddApplication({}, "8.0.0"));
  EXPECT_EQ(verdict.sharing(), Sharing::kRefused);
  EXPECT_THAT(verdict.findings[0].Text(),
              AllOf(HasSubstr("needs Microsoft.NETCore.App 8.0.0"), HasSubstr("8.0.22"),
                    HasSubstr("build it for net10.0")));
}

TEST_F(ApplicationCheckTest, NewerAssembliesAreComparedWithTheFrameworkThatItGets) {
  const char* const assets =
      R"({"App.dll": {}, "lib/Json.dll": {"assemblyVersion": "10.5.0.0", "fileVersion": "1.0"}})";
  EXPECT_EQ(Check(folder_.AddApplication({}, "10.0.0", assets)).sharing(), Sharing::kSolo);
  folder_.AddVersion("11.0.1");
  folder_.Write("dotnet/shared/Microsoft.AspNetCore.App/11.0.1/Microsoft.AspNetCore.App.deps.json",
                DotnetFolder::Deps(R"({"Json.dll": {"assemblyVersion": "11.0.0.0"}})"));
  EXPECT_EQ(Check(folder_.AddApplication({}, "11.0.0", assets)).sharing(), Sharing::kShared);
}

TEST_F(ApplicationCheckTest, AFrameworkThatIsNotThereIsSaidWithWhatToInstall) {
  const Verdict verdict = Check(folder_.AddApplication({}, "10.0.99"));
  EXPECT_EQ(verdict.sharing(), Sharing::kRefused);
  EXPECT_THAT(verdict.findings[0].Text(), AllOf(HasSubstr("Microsoft.NETCore.App 10.0.99"),
                                                HasSubstr("aspnetcore-runtime-10.0")));
}

TEST_F(ApplicationCheckTest, ANewerAssemblyThanTheFrameworksNeedsAProcess) {
  const auto with = [&](const std::string& assembly, const std::string& file) {
    return Check(folder_.AddApplication(
        {}, "10.0.0",
        absl::StrCat(R"({"App.dll": {}, "lib/Json.dll": {"assemblyVersion": ")", assembly,
                     R"(", "fileVersion": ")", file, R"("}})")));
  };
  EXPECT_THAT(with("10.0.0.0", "10.0.12.1").findings, IsEmpty());
  EXPECT_THAT(with("9.0.0.0", "99.0.0.0").findings, IsEmpty());
  EXPECT_THAT(Only(with("10.0.0.1", "1.0.0.0"), kSolo), HasSubstr("a newer Json.dll"));
  EXPECT_THAT(Only(with("10.0.0.0", "10.0.13.0"), kSolo), HasSubstr("a newer Json.dll"));
}

TEST_F(ApplicationCheckTest, WhatIsNoSharedApplicationIsRefused) {
  const std::string app = folder_.AddApplication();
  folder_.Write(
      "app/App.runtimeconfig.json",
      R"({"runtimeOptions": {"includedFrameworks": [{"name": "x", "version": "1.0.0"}]}})");
  EXPECT_THAT(Only(Check(app), kRefused), HasSubstr("--self-contained false"));
  folder_.Write("app/App.runtimeconfig.json",
                R"({"runtimeOptions": {"framework": {"name": "Microsoft.NETCore.App",
                    "version": "10.0.0"}}})");
  EXPECT_THAT(Only(Check(app), kRefused), HasSubstr("no ASP.NET Core application"));
  std::filesystem::remove(folder_.path("app/App.runtimeconfig.json"));
  EXPECT_THAT(Only(Check(app), kRefused), HasSubstr("App.runtimeconfig.json' is missing"));
}

TEST_F(ApplicationCheckTest, SettingsOfTheRuntimeAreTheWorkersOwn) {
  const std::string app = folder_.AddApplication();
  folder_.Write("app/App.runtimeconfig.json",
                DotnetFolder::Config("10.0.0",
                                     R"(, "configProperties": {"System.GC.Server": true,
                                          "System.Globalization.Invariant": true})"));
  EXPECT_THAT(Only(Check(app), kWarning), HasSubstr("System.Globalization.Invariant"));
}

TEST_F(ApplicationCheckTest, AnAssemblyForANewerFrameworkIsRefused) {
  AssemblyBytes bytes;
  bytes.references = {{"System.Runtime", {11, 0, 0, 0}}};
  EXPECT_THAT(Only(Check(folder_.AddApplication(bytes)), kRefused), HasSubstr("needs .NET 11.0"));
}

TEST_F(ApplicationCheckTest, DamagedFilesAreRefused) {
  const std::string app = folder_.AddApplication();
  folder_.Write("app/App.deps.json", "{");
  EXPECT_THAT(Only(Check(app), kRefused), HasSubstr("App.deps.json"));
  std::filesystem::remove(folder_.path("app/App.deps.json"));
  EXPECT_THAT(Check(app).findings, IsEmpty());
  folder_.Write("app/App.dll", AssemblyBytes().Build().substr(0, 700));
  EXPECT_EQ(Check(app).sharing(), Sharing::kRefused);
}

TEST_F(ApplicationCheckTest, AFolderIsCheckedAsItWouldBePublished) {
  folder_.AddApplication();
  folder_.Write("app/readme.txt", "text");
  Verdict good;
  CheckFolder(folder_.path("app"), good);
  EXPECT_THAT(good.findings, IsEmpty());
  AssemblyBytes composite = AssemblyBytes::ReadyToRun();
  composite.ready_to_run_flags |= 0x20;
  folder_.Write("app/sub/Part.dll", composite.Build());
  Verdict bad;
  CheckFolder(folder_.path("app"), bad);
  EXPECT_THAT(Only(bad, kRefused), AllOf(HasSubstr("sub/Part.dll"), HasSubstr("composite")));
}

}  // namespace
}  // namespace cohost::supervisor
