// SPDX-License-Identifier: Apache-2.0
#include "base/dotnet/hostfxr.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/temporary_folder.h"

namespace cohost {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

class Hostfxr : public ::testing::Test {
 protected:
  // An installation below the test's folder, with these versions of hostfxr.
  std::string Install(const std::string& name, std::initializer_list<const char*> versions) {
    const fs::path root = fs::path(folder_.path()) / name;
    for (const char* version : versions) {
      const fs::path fxr = root / "host" / "fxr" / version;
      fs::create_directories(fxr);
      std::ofstream(fxr / "libhostfxr.so") << "x";
    }
    return root;
  }

  testing::TemporaryFolder folder_;
};

TEST_F(Hostfxr, TheHighestVersionOfAnInstallationIsTaken) {
  const std::string root = Install("dotnet", {"9.0.11", "10.0.12", "10.0.2"});
  const auto found = FindDotnetHost({.configured = root});
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->hostfxr, root + "/host/fxr/10.0.12/libhostfxr.so");
}

TEST_F(Hostfxr, AReleaseIsNewerThanItsPreviews) {
  const std::string root = Install("dotnet", {"10.0.0", "10.0.0-rc.1.25451.107"});
  const auto found = FindDotnetHost({.configured = root});
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->hostfxr, root + "/host/fxr/10.0.0/libhostfxr.so");
}

TEST_F(Hostfxr, FoldersThatAreNoVersionsAndVersionsWithoutALibraryAreLeftOut) {
  const std::string root = Install("dotnet", {"10.0.1", "99", "99.0.0.old", "x"});
  fs::create_directories(fs::path(root) / "host/fxr/11.0.0");
  const auto found = FindDotnetHost({.configured = root});
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->hostfxr, root + "/host/fxr/10.0.1/libhostfxr.so");
}

TEST_F(Hostfxr, TheConfiguredPlaceIsTheOnlyOne) {
  const std::string usual = Install("usual", {"10.0.12"});
  const auto found =
      FindDotnetHost({.configured = folder_ / "empty", .environment = usual, .usual = {usual}});
  EXPECT_EQ(found.status().code(), absl::StatusCode::kNotFound);
}

TEST_F(Hostfxr, DotnetRootComesBeforeTheUsualPlaces) {
  const std::string variable = Install("variable", {"10.0.1"});
  const std::string usual = Install("usual", {"10.0.12"});
  const auto found = FindDotnetHost({.environment = variable, .usual = {usual}});
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->hostfxr, variable + "/host/fxr/10.0.1/libhostfxr.so");
}

TEST_F(Hostfxr, WhatIsMissingIsSaidWithEveryPlaceAndWhatToInstall) {
  const auto found =
      FindDotnetHost({.environment = folder_ / "a", .usual = {folder_ / "b", folder_ / "c"}});
  EXPECT_EQ(found.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(found.status().message()),
              AllOf(HasSubstr(folder_ / "a"), HasSubstr(folder_ / "b"), HasSubstr(folder_ / "c"),
                    HasSubstr("install the ASP.NET Core runtime")));
}

}  // namespace
}  // namespace cohost
