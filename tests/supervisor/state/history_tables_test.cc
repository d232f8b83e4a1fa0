// SPDX-License-Identifier: Apache-2.0
#include "supervisor/state/history_tables.h"

#include <limits>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cohost::supervisor {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::SizeIs;

std::string Hash(char digit) { return std::string(64, digit); }

ServiceChange Change(const std::string& service, uint64_t revision, const std::string& module) {
  ServiceChange change;
  change.service = service;
  change.revision = revision;
  change.fingerprint = std::numeric_limits<uint64_t>::max() - revision;
  change.files.module = module;
  change.source = "/srv/" + service + ".so";
  change.action = ChangeAction::kDeploy;
  change.time = absl::FromUnixSeconds(static_cast<int64_t>(revision));
  change.uid = 1000;
  return change;
}

StateRevision Revision(uint64_t number) {
  StateRevision revision;
  revision.revision = number;
  revision.deployment = "text " + std::to_string(number);
  revision.applied = absl::FromUnixSeconds(static_cast<int64_t>(number));
  revision.action = ChangeAction::kRollback;
  revision.summary = "1 changed";
  return revision;
}

class HistoryTablesTest : public ::testing::Test {
 protected:
  HistoryTablesTest() { EXPECT_TRUE(sqlite_.Script(HistoryTables::kTables).ok()); }
  void Write(const ServiceChange& change) { ASSERT_TRUE(history_.WriteServiceChange(change).ok()); }

  Sqlite sqlite_ = Sqlite::Open("").value();
  HistoryTables history_{sqlite_};
};

TEST_F(HistoryTablesTest, GivesBackWhatWasWritten) {
  ServiceChange change = Change("shop", 3, Hash('a'));
  change.files.data_images = {{"words", Hash('b')}, {"a name with spaces", Hash('c')}};
  Write(change);
  EXPECT_THAT(*history_.Changes("shop", 10), ElementsAre(change));
  ASSERT_TRUE(history_.WriteRevision(Revision(3), 10).ok());
  EXPECT_EQ(*history_.Revision(3), Revision(3));
  EXPECT_EQ(history_.Revision(4).status().code(), absl::StatusCode::kNotFound);
  StateRevision listed = Revision(3);
  listed.deployment.clear();
  EXPECT_THAT(*history_.Revisions(10), ElementsAre(listed));
}

TEST_F(HistoryTablesTest, TellsWhatWasInForceInARevision) {
  Write(Change("a", 1, Hash('1')));
  Write(Change("b", 1, Hash('2')));
  Write(Change("a", 3, Hash('3')));
  Write(Change("b", 4, ""));
  EXPECT_EQ(history_.ChangesAt(2)->at("a").files.module, Hash('1'));
  EXPECT_EQ(history_.ChangesAt(3)->at("a").files.module, Hash('3'));
  EXPECT_EQ(history_.ChangesAt(3)->at("b").files.module, Hash('2'));
  EXPECT_THAT(*history_.ChangesAt(4), ElementsAre(Key("a")));
  EXPECT_THAT(*history_.ChangesAt(0), IsEmpty());
}

TEST_F(HistoryTablesTest, KeepsTheLatestChangesOfEachService) {
  Write(Change("b", 1, Hash('b')));
  for (uint64_t revision = 1; revision <= 25; ++revision) Write(Change("a", revision, Hash('a')));
  const auto changes = *history_.Changes("a", 100);
  ASSERT_THAT(changes, SizeIs(kKeptChanges));
  EXPECT_EQ(changes.front().revision, 25u);
  EXPECT_EQ(changes.back().revision, 16u);
  EXPECT_THAT(*history_.Changes("b", 100), SizeIs(1));
  EXPECT_THAT(*history_.Changes("a", 2), SizeIs(2));
}

TEST_F(HistoryTablesTest, ForgetsWhatWasRemovedLongAgo) {
  Write(Change("gone", 1, Hash('a')));
  Write(Change("gone", 2, ""));
  Write(Change("back", 1, Hash('b')));
  Write(Change("back", 2, ""));
  Write(Change("back", 3, Hash('b')));
  const absl::Time removed = absl::FromUnixSeconds(2);
  ASSERT_TRUE(history_.ForgetRemoved(removed + HistoryTables::kKeepRemoved).ok());
  EXPECT_THAT(*history_.Changes("gone", 10), SizeIs(2));
  ASSERT_TRUE(
      history_.ForgetRemoved(removed + HistoryTables::kKeepRemoved + absl::Seconds(1)).ok());
  EXPECT_THAT(*history_.Changes("gone", 10), IsEmpty());
  EXPECT_THAT(*history_.Changes("back", 10), SizeIs(3));
}

TEST_F(HistoryTablesTest, NamesEveryFileOfAKeptChange) {
  ServiceChange change = Change("a", 1, Hash('1'));
  change.files.data_images = {{"words", Hash('2')}};
  Write(change);
  Write(Change("a", 2, Hash('3')));
  Write(Change("a", 3, ""));
  EXPECT_THAT(*history_.Hashes(), ElementsAre(Hash('1'), Hash('2'), Hash('3')));
}

TEST_F(HistoryTablesTest, AModuleKeepsWhenItCameFirst) {
  ModuleRecord record{Hash('a'), "module", 5, "/first.so", absl::FromUnixSeconds(1), 7};
  ASSERT_TRUE(history_.WriteModules({record}).ok());
  ModuleRecord again = record;
  again.source = "/second.so";
  again.published = absl::FromUnixSeconds(2);
  ASSERT_TRUE(history_.WriteModules({again}).ok());
  EXPECT_EQ(history_.Modules()->at(Hash('a')), record);
  ASSERT_TRUE(history_.EraseModules({Hash('a'), Hash('b')}).ok());
  EXPECT_THAT(*history_.Modules(), IsEmpty());
}

TEST_F(HistoryTablesTest, RowsThatMakeNoSenseStopNothing) {
  ASSERT_TRUE(sqlite_
                  .Script("INSERT INTO service_changes VALUES"
                          "('a', 1, -1, 'm', 'short\nxx', NULL, 'conquer', 'x', 'y');"
                          "INSERT INTO revisions VALUES(1, 't', 'x', NULL);"
                          "INSERT INTO revision_notes VALUES(1, 'conquer', NULL);"
                          "INSERT INTO pins VALUES('a', 'x', 'y');")
                  .ok());
  StateSnapshot snapshot;
  ASSERT_TRUE(history_.Load(snapshot).ok());
  EXPECT_THAT(snapshot.services.at("a").files.data_images, IsEmpty());
  EXPECT_EQ(snapshot.revision->revision, 1u);
}

}  // namespace
}  // namespace cohost::supervisor
