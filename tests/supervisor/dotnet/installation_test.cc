// SPDX-License-Identifier: Apache-2.0
#include "supervisor/dotnet/installation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/supervisor/dotnet/dotnet_folder.h"

namespace cohost::supervisor {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Key;

std::string Problem(const DotnetPlaces& places) {
  return std::string(FindDotnet(places).status().message());
}

TEST(FindDotnet, TheFirstPlaceThatHasAHostCounts) {
  const DotnetFolder folder;
  DotnetPlaces places{.environment = folder.path("empty"), .usual = {"/nowhere", folder.root()}};
  auto found = FindDotnet(places);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->root, folder.root());
  EXPECT_THAT(found->frameworks, ElementsAre(Key(kWebFramework), Key(kCoreFramework)));
  places = {.environment = folder.root(), .usual = {}};
  EXPECT_TRUE(FindDotnet(places).ok());
}

TEST(FindDotnet, WhatTheDeploymentSaysIsTheOnlyPlace) {
  const DotnetFolder folder;
  EXPECT_THAT(Problem({.configured = "/nowhere", .usual = {folder.root()}}),
              AllOf(HasSubstr("in /nowhere;"), HasSubstr("aspnetcore-runtime-10.0")));
}

TEST(FindDotnet, WithoutItTheProblemSaysWhereItLookedAndWhatToInstall) {
  EXPECT_THAT(Problem({.environment = "/a", .usual = {"/b"}}),
              AllOf(HasSubstr("no .NET on this machine"), HasSubstr("/a, /b"),
                    HasSubstr("install the ASP.NET Core runtime"), HasSubstr("host.dotnet.root")));
}

}  // namespace
}  // namespace cohost::supervisor
