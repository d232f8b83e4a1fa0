// SPDX-License-Identifier: Apache-2.0
#include "supervisor/dotnet/library_verdicts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "supervisor/dotnet/reviewed_libraries.h"

namespace cohost::supervisor {
namespace {

using enum LibraryStanding;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Library Make(const std::string& name, const std::vector<std::string>& references = {},
             const std::vector<std::string>& alarms = {}, const std::string& version = "1.2.3") {
  Library library;
  library.name = name;
  library.references = references;
  library.alarms = alarms;
  library.package_version = version;
  return library;
}

std::vector<LibraryName> Listed(const std::vector<std::string>& texts) {
  std::vector<LibraryName> names;
  for (const std::string& text : texts) names.push_back(LibraryName::Parse(text).value());
  return names;
}

LibraryVerdict JudgeOne(const Library& library, const std::vector<std::string>& listed) {
  return JudgeLibraries({library}, Listed(listed))[0];
}

TEST(LibraryVerdicts, WhatNobodyNamesIsEachApplicationsOwn) {
  const LibraryVerdict verdict = JudgeOne(Make("Acme"), {});
  EXPECT_EQ(verdict.standing, kOwn);
  EXPECT_THAT(verdict.reason, HasSubstr("not on the list"));
  EXPECT_FALSE(verdict.is_expected);
}

TEST(LibraryVerdicts, AListedLibraryIsSharedUnlessTheScanHasAnAlarm) {
  EXPECT_EQ(JudgeOne(Make("Acme"), {"Acme"}).standing, kListed);
  const LibraryVerdict refused =
      JudgeOne(Make("Acme", {}, {"Acme.Log.Logger can be set"}), {"Acme"});
  EXPECT_EQ(refused.standing, kOwn);
  EXPECT_TRUE(refused.is_expected);
  EXPECT_THAT(refused.reason, HasSubstr("Acme.Log.Logger can be set"));
  EXPECT_THAT(refused.reason, HasSubstr("Acme/1.2.3"));
}

TEST(LibraryVerdicts, WhoAnswersForAVersionSharesItAndNoOther) {
  const std::vector<std::string> alarms = {"Acme.Log.Logger can be set"};
  EXPECT_EQ(JudgeOne(Make("Acme", {}, alarms), {"Acme/1.2"}).standing, kAnswered);
  EXPECT_EQ(JudgeOne(Make("Acme", {}, alarms, "1.3.0"), {"Acme/1.2"}).standing, kOwn);
  // Without an alarm the name is enough.
  EXPECT_EQ(JudgeOne(Make("Acme", {}, {}, "1.3.0"), {"Acme/1.2"}).standing, kListed);
}

TEST(LibraryVerdicts, ReviewedVersionsAreSharedWhateverTheScanSays) {
  const Library read = Make("Microsoft.EntityFrameworkCore", {}, {"EF.X can be set"}, "10.0.7");
  EXPECT_EQ(JudgeOne(read, {}).standing, kReviewed);
  const Library other = Make("Microsoft.EntityFrameworkCore", {}, {"EF.X can be set"}, "11.0.0");
  EXPECT_EQ(JudgeOne(other, {}).standing, kOwn);
  EXPECT_EQ(JudgeOne(other, {"Microsoft.*"}).standing, kOwn);
  EXPECT_THAT(JudgeOne(Make("Microsoft.EntityFrameworkCore", {}, {}, "11.0.0"), {}).reason,
              HasSubstr("reviewed from 10.0.0"));
}

TEST(LibraryVerdicts, WhatAReviewedOneKeepsInsideNeedsNotBeShared) {
  const std::string provider = "Microsoft.EntityFrameworkCore.Sqlite";
  const std::string model = "Microsoft.Extensions.DependencyModel";
  auto verdicts =
      JudgeLibraries({Make(provider, {model}, {}, "10.0.0"), Make(model), Make("Acme", {model})},
                     Listed({"Acme"}));
  EXPECT_EQ(verdicts[0].standing, kReviewed);
  EXPECT_THAT(verdicts[0].inside, ElementsAre(model));
  EXPECT_EQ(verdicts[1].standing, kOwn);
  // For others it is one that is not shared.
  EXPECT_EQ(verdicts[2].standing, kOwn);
  // A copy of it would need copies of what it references.
  verdicts =
      JudgeLibraries({Make(provider, {model}, {}, "10.0.0"), Make(model, {"X"}), Make("X")}, {});
  EXPECT_EQ(verdicts[0].standing, kOwn);
}

TEST(LibraryVerdicts, AReviewedOneIsBoundToWhatItsStaticsHold) {
  const auto verdicts =
      JudgeLibraries({Make("SQLitePCLRaw.core", {}, {}, "2.1.11"),
                      Make("SQLitePCLRaw.provider.e_sqlcipher", {"SQLitePCLRaw.core"}), Make("X")},
                     {});
  EXPECT_EQ(verdicts[0].standing, kReviewed);
  EXPECT_THAT(verdicts[0].bound,
              ElementsAre("SQLitePCLRaw.core", "SQLitePCLRaw.provider.e_sqlcipher"));
  EXPECT_EQ(verdicts[1].standing, kOwn);
}

TEST(LibraryVerdicts, WhatIsTiedToOneApplicationIsNotSharedByItsName) {
  EXPECT_EQ(JudgeOne(Make("Microsoft.Extensions.DependencyModel"), {"*"}).standing, kOwn);
  EXPECT_THAT(JudgeOne(Make("Npgsql"), {"Npgsql"}).reason, HasSubstr("pools connections"));
  EXPECT_EQ(JudgeOne(Make("Npgsql"), {"Npgsql/1.2"}).standing, kAnswered);
}

TEST(LibraryVerdicts, AnObstacleIsStrongerThanAnybodysWord) {
  Library library = Make("Acme");
  library.obstacle = "it has other code for some systems";
  EXPECT_EQ(JudgeOne(library, {"Acme/1.2.3"}).standing, kOwn);
}

TEST(LibraryVerdicts, ALibraryIsSharedOnlyWithAllThatItReferences) {
  const auto verdicts =
      JudgeLibraries({Make("A", {"B"}), Make("B", {"c"}), Make("C", {}, {"C.X can be set"}),
                      Make("D", {"E"}), Make("E"), Make("F", {"Missing"})},
                     Listed({"*"}));
  EXPECT_EQ(verdicts[0].standing, kOwn);
  EXPECT_EQ(verdicts[0].reason, "it references B, which is not shared");
  EXPECT_EQ(verdicts[1].reason, "it references c, which is not shared");
  EXPECT_EQ(verdicts[3].standing, kListed);
  EXPECT_EQ(verdicts[4].standing, kListed);
  EXPECT_THAT(verdicts[5].reason, HasSubstr("Missing, which the application does not have"));
}

TEST(LibraryVerdicts, ACircleOfReferencesIsSharedAsAWhole) {
  const std::vector<Library> circle = {Make("A", {"B"}), Make("B", {"A"})};
  for (const LibraryVerdict& verdict : JudgeLibraries(circle, Listed({"*"}))) {
    EXPECT_EQ(verdict.standing, kListed) << verdict.reason;
  }
  EXPECT_THAT(ClosureOf(circle[0], circle), ElementsAre("A", "B"));
}

TEST(LibraryVerdicts, AClosureHasEverythingBelow) {
  const std::vector<Library> all = {Make("A", {"B", "C"}), Make("B", {"d"}), Make("C"), Make("D"),
                                    Make("E")};
  EXPECT_THAT(ClosureOf(all[0], all), ElementsAre("A", "B", "C", "D"));
  EXPECT_THAT(ClosureOf(all[4], all), ElementsAre("E"));
}

TEST(ReviewedLibraries, AreThoseOfTheVersionsThatWereRead) {
  const ReviewedLibrary library = {"X", "10.0.0", "10.1", ""};
  for (const char* version : {"10.0.0", "10.0", "10.0.99", "10"}) {
    EXPECT_TRUE(WasRead(library, version)) << version;
  }
  for (const char* version :
       {"", "9.9.9", "10.1", "10.1.0", "11", "10.0.1-rc.1", "10.0.0.0", "10.0.", "x"}) {
    EXPECT_FALSE(WasRead(library, version)) << version;
  }
  for (const ReviewedLibrary& each : ReviewedLibraries()) {
    EXPECT_FALSE(each.reason.empty()) << each.name;
    EXPECT_TRUE(WasRead(each, each.first)) << each.name;
    EXPECT_FALSE(WasRead(each, each.below)) << each.name;
  }
}

}  // namespace
}  // namespace cohost::supervisor
