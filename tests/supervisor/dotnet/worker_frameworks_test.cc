// SPDX-License-Identifier: Apache-2.0
#include "supervisor/dotnet/worker_frameworks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/supervisor/dotnet/dotnet_folder.h"

namespace cohost::supervisor {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Key;

std::string Problem(const DotnetPlaces& places) {
  return std::string(FindDotnetRuntime(places).status().message());
}

TEST(FindDotnetRuntime, AnInterruptedInstallationIsNoVersion) {
  const DotnetFolder folder;
  folder.AddVersion("10.0.14");
  std::filesystem::remove(folder.root() +
                          "/shared/Microsoft.AspNetCore.App/10.0.14/"
                          "Microsoft.AspNetCore.App.deps.json");
  const auto runtime = FindDotnetRuntime({.configured = folder.root()});
  ASSERT_TRUE(runtime.ok()) << runtime.status();
  EXPECT_EQ(runtime->frameworks.at(kWebFramework).version.ToString(), "10.0.12");
}

TEST(FindDotnetRuntime, TakesTheLatestPatchOfWhatTheShimWasBuiltFor) {
  const DotnetFolder folder;
  folder.AddVersion("10.0.9");
  folder.AddVersion("11.0.0");
  const auto runtime = FindDotnetRuntime({.configured = folder.root()});
  ASSERT_TRUE(runtime.ok()) << runtime.status();
  EXPECT_EQ(runtime->frameworks.at(kCoreFramework).version.ToString(), "10.0.12");
  EXPECT_THAT(runtime->frameworks.at(kWebFramework).assemblies, ElementsAre(Key("Json.dll")));
}

TEST(FindDotnetRuntime, TakesALaterMajorVersionWhereThereIsNothingElse) {
  const DotnetFolder folder;
  std::filesystem::remove_all(folder.root());
  folder.AddVersion("9.0.7");
  folder.AddVersion("11.0.0");
  folder.AddVersion("12.0.0");
  const auto runtime = FindDotnetRuntime({.configured = folder.root()});
  ASSERT_TRUE(runtime.ok()) << runtime.status();
  EXPECT_EQ(FrameworkText(runtime->Usual()), "11.0.0");
}

TEST(FindDotnetRuntime, SaysWhichFrameworkIsMissing) {
  const DotnetFolder folder;
  std::filesystem::remove_all(folder.root() + "/shared/Microsoft.AspNetCore.App");
  EXPECT_THAT(
      Problem({.configured = folder.root()}),
      AllOf(HasSubstr("no Microsoft.AspNetCore.App 10.0"), HasSubstr("aspnetcore-runtime-10.0")));
}

}  // namespace
}  // namespace cohost::supervisor
