// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/tree/persist_rules.h"

#include <algorithm>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cohost::supervisor {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Paths; those that end in "/" are folders, those that end in "@" links.
std::vector<WalkedEntry> Entries(const std::vector<std::string>& paths) {
  std::vector<WalkedEntry> entries;
  for (std::string path : paths) {
    WalkedEntry entry;
    if (path.ends_with('/')) entry.type = WalkedEntry::Type::kFolder;
    if (path.ends_with('@')) entry.type = WalkedEntry::Type::kLink;
    if (entry.type != WalkedEntry::Type::kFile) path.pop_back();
    entry.path = path;
    entries.push_back(entry);
  }
  std::sort(entries.begin(), entries.end(),
            [](const WalkedEntry& a, const WalkedEntry& b) { return a.path < b.path; });
  return entries;
}

absl::StatusOr<PersistPlan> TryPlan(const std::vector<std::string>& patterns,
                                    const std::vector<std::string>& paths) {
  const auto rules = PersistRules::Parse(patterns);
  EXPECT_TRUE(rules.ok()) << rules.status();
  return rules->Plan(Entries(paths));
}

PersistPlan Plan(const std::vector<std::string>& patterns, const std::vector<std::string>& paths) {
  auto plan = TryPlan(patterns, paths);
  EXPECT_TRUE(plan.ok()) << plan.status();
  return *std::move(plan);
}

TEST(PersistRules, NothingPersistsWithoutPatterns) {
  const auto plan = PersistRules().Plan(Entries({"a.db", "b/", "b/c"}));
  EXPECT_THAT(plan->folders, IsEmpty());
  EXPECT_THAT(plan->files, IsEmpty());
  EXPECT_FALSE(PersistRules().Matches("a.db"));
}

TEST(PersistRules, AFolderPatternIsTheFolderWhetherItIsThereOrNot) {
  for (const auto& paths : std::vector<std::vector<std::string>>{
           {}, {"uploads/"}, {"uploads/", "uploads/a", "uploads/x/", "uploads/x/y"}}) {
    const PersistPlan plan = Plan({"uploads/**"}, paths);
    EXPECT_THAT(plan.folders, ElementsAre("uploads"));
    EXPECT_THAT(plan.files, IsEmpty());
    EXPECT_THAT(plan.notices, IsEmpty());
  }
  EXPECT_TRUE(Plan({"uploads/**"}, {}).IsInFolder("uploads/x/y"));
  EXPECT_FALSE(Plan({"uploads/**"}, {}).IsInFolder("uploads"));
}

TEST(PersistRules, AFolderPatternWithWildcardsIsTheFoldersThatAreThere) {
  const PersistPlan plan = Plan({"**/cache/**"}, {"a/", "a/cache/", "a/cache/x", "cache/", "b/"});
  EXPECT_THAT(plan.folders, ElementsAre("a/cache", "cache"));
}

TEST(PersistRules, AFileNamedInFullMayComeLater) {
  const PersistPlan plan = Plan({"app.db", "state/x.json"}, {"Shop.dll"});
  EXPECT_THAT(plan.files, ElementsAre("app.db", "state/x.json"));
  EXPECT_THAT(plan.folders, IsEmpty());
  EXPECT_THAT(plan.notices, IsEmpty());
  EXPECT_TRUE(plan.Holds("app.db"));
  EXPECT_FALSE(plan.Holds("app.db-wal"));
}

TEST(PersistRules, TheNameOfAFolderMeansAllThatIsInIt) {
  const PersistPlan plan = Plan({"uploads"}, {"uploads/", "uploads/a"});
  EXPECT_THAT(plan.folders, ElementsAre("uploads"));
  EXPECT_THAT(plan.files, IsEmpty());
}

TEST(PersistRules, WildcardsInTheApplicationsOwnFolderAreWhatIsThere) {
  const PersistPlan plan = Plan({"*.db"}, {"Shop.dll", "a.db", "b.db", "x/", "x/c.db"});
  EXPECT_THAT(plan.files, ElementsAre("a.db", "b.db"));
  EXPECT_THAT(plan.folders, IsEmpty());
  // New ones cannot be made.
  EXPECT_THAT(plan.notices, SizeIs(1));
}

TEST(PersistRules, AFolderOfMatchingFilesOnlyIsKeptAsAWhole) {
  EXPECT_THAT(Plan({"data/?.txt"}, {}).folders, ElementsAre("data"));
  EXPECT_THAT(Plan({"data/?.txt"}, {"data/"}).folders, ElementsAre("data"));
  EXPECT_THAT(Plan({"data/?.txt"}, {"data/", "data/a.txt"}).folders, ElementsAre("data"));
  EXPECT_THAT(Plan({"data/?.txt"}, {"data/", "data/a.txt"}).notices, IsEmpty());
  EXPECT_THAT(Plan({"data/*.txt", "data/*.db"}, {"data/", "data/a.txt", "data/b.db"}).folders,
              ElementsAre("data"));
}

TEST(PersistRules, AFolderWithOtherFilesStaysTheTrees) {
  const PersistPlan plan = Plan({"data/?.txt"}, {"data/", "data/a.txt", "data/long.txt"});
  EXPECT_THAT(plan.folders, IsEmpty());
  EXPECT_THAT(plan.files, ElementsAre("data/a.txt"));
  EXPECT_THAT(plan.notices, SizeIs(1));
  const PersistPlan deeper = Plan({"data/*"}, {"data/", "data/a", "data/x/", "data/x/y"});
  EXPECT_THAT(deeper.folders, IsEmpty());
  EXPECT_THAT(deeper.files, ElementsAre("data/a"));
  // A link is no file that anybody writes.
  EXPECT_THAT(Plan({"data/*"}, {"data/", "data/a", "data/l@"}).folders, IsEmpty());
}

TEST(PersistRules, WildcardFoldersAreKeptAsAWholeWhenAllInThemMatches) {
  const PersistPlan plan =
      Plan({"*/*.db"}, {"a/", "a/x.db", "b/", "b/x.db", "b/y.dll", "c/", "d.db"});
  EXPECT_THAT(plan.folders, ElementsAre("a"));
  EXPECT_THAT(plan.files, ElementsAre("b/x.db"));
}

TEST(PersistRules, FoldersInsideOthersAreNotNamedTwice) {
  const PersistPlan plan = Plan({"data/**", "data/db/**", "data/x.txt", "data/db/*.db"},
                                {"data/", "data/db/", "data/db/a.db", "data/x.txt"});
  EXPECT_THAT(plan.folders, ElementsAre("data"));
  EXPECT_THAT(plan.files, IsEmpty());
  EXPECT_THAT(plan.notices, IsEmpty());
}

TEST(PersistRules, WhatIsInTheWayIsAnError) {
  EXPECT_EQ(TryPlan({"uploads/**"}, {"uploads"}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(TryPlan({"uploads/**"}, {"uploads@"}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(TryPlan({"a/b.db"}, {"a"}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(TryPlan({"a/b/**"}, {"a@"}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(TryPlan({"a.db"}, {"a.db@"}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(PersistRules, RefusesPatternsThatTakeEverythingAndTooMany) {
  for (const std::string pattern : {"**", "**/**", "../x", ""}) {
    EXPECT_EQ(PersistRules::Parse({pattern}).status().code(), absl::StatusCode::kInvalidArgument)
        << pattern;
  }
  const std::vector<std::string> many(PersistRules::kMostPatterns + 1, "a");
  EXPECT_EQ(PersistRules::Parse(many).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace cohost::supervisor
