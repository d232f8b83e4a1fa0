// SPDX-License-Identifier: Apache-2.0
#include "supervisor/dotnet/framework_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "supervisor/dotnet/worker_frameworks.h"
#include "tests/supervisor/dotnet/dotnet_folder.h"

namespace cohost::supervisor {
namespace {

namespace fs = std::filesystem;

using ::testing::HasSubstr;

FrameworkVersions Both(uint32_t patch) {
  return {{kCoreFramework, {10, 0, patch}}, {kWebFramework, {10, 0, patch}}};
}

class FrameworkViewTest : public ::testing::Test {
 protected:
  FrameworkViewTest() {
    folder_.AddVersion("10.0.9");
    folder_.AddVersion("11.0.0");
  }
  std::string Make(const FrameworkVersions& versions) {
    const auto dotnet = FindDotnet({.configured = folder_.root()});
    EXPECT_TRUE(dotnet.ok()) << dotnet.status();
    const auto view = MakeFrameworkView(*dotnet, versions, folder_.path("state/dotnet"));
    EXPECT_TRUE(view.ok()) << view.status();
    return view.value_or("");
  }

  const DotnetFolder folder_;
};

TEST_F(FrameworkViewTest, IsAnInstallationOfTheseVersionsAlone) {
  const auto seen = FindDotnetRuntime({.configured = Make(Both(9))});
  ASSERT_TRUE(seen.ok()) << seen.status();
  EXPECT_EQ(seen->Usual(), Both(9));
  EXPECT_EQ(seen->installation.frameworks.at(kCoreFramework).size(), 1u);
}

TEST_F(FrameworkViewTest, EveryUserMayGoThroughIt) {
  struct stat status {};
  ASSERT_EQ(::stat(Make(Both(9)).c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0755u);
}

TEST_F(FrameworkViewTest, TheSameIsMadeOnceAndLeavesNothingBeside) {
  const std::string view = Make(Both(9));
  EXPECT_EQ(Make(Both(9)), view);
  EXPECT_NE(Make(Both(12)), view);
  size_t entries = 0;
  for (const auto& each : fs::directory_iterator(folder_.path("state/dotnet"))) {
    EXPECT_TRUE(each.path() == view || each.path() == Make(Both(12))) << each.path();
    ++entries;
  }
  EXPECT_EQ(entries, 2u);
}

TEST_F(FrameworkViewTest, AnotherInstallationHasAnotherView) {
  const std::string view = Make(Both(9));
  DotnetInstallation elsewhere;
  elsewhere.root = "/opt/dotnet";
  const auto other = MakeFrameworkView(elsewhere, Both(9), folder_.path("state/dotnet"));
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_NE(*other, view);
  EXPECT_EQ(fs::read_symlink(*other + "/host"), "/opt/dotnet/host");
}

TEST_F(FrameworkViewTest, WhatCannotBeWrittenIsSaidWithItsPlace) {
  const auto dotnet = FindDotnet({.configured = folder_.root()});
  ASSERT_TRUE(dotnet.ok()) << dotnet.status();
  folder_.Write("file", "");
  const auto view = MakeFrameworkView(*dotnet, Both(9), folder_.path("file/dotnet"));
  EXPECT_THAT(std::string(view.status().message()), HasSubstr(folder_.path("file")));
}

TEST(FrameworkText, NamesEachOnlyWhereTheyDiffer) {
  EXPECT_EQ(FrameworkText(Both(9)), "10.0.9");
  EXPECT_EQ(FrameworkText({{kCoreFramework, {10, 0, 9}}, {kWebFramework, {10, 0, 8}}}),
            "Microsoft.AspNetCore.App 10.0.8, Microsoft.NETCore.App 10.0.9");
  EXPECT_EQ(FrameworkText({}), "");
}

}  // namespace
}  // namespace cohost::supervisor
