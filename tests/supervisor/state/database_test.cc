// SPDX-License-Identifier: Apache-2.0
#include "supervisor/state/database.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "supervisor/state/sqlite.h"
#include "supervisor/state/state_file.h"
#include "tests/supervisor/state/state_folder.h"

namespace cohost::supervisor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

absl::Time At(int64_t micros) { return absl::FromUnixMicros(micros); }

StateSnapshot Sample() {
  StateSnapshot snapshot;
  snapshot.instance = "0123456789abcdef0123456789abcdef";
  snapshot.revision = StateRevision{
      7, "version: 1\nsecret: ${env:X}\n", At(1'234'567), 1000, ChangeAction::kDeploy, "1 changed"};
  ServiceChange change;
  change.service = "a";
  change.revision = 6;
  change.files = {std::string(64, 'a'), {{"words", std::string(64, 'b')}}};
  change.time = At(1);
  snapshot.services = {{"a", change}};
  snapshot.pins = {{"a", {~uint64_t{0}, 6}}};
  snapshot.placement.services = {{"a", {"steady-1", false}}, {"b", {"shop", true}}};
  snapshot.placement.last_numbers = {{"steady", 4}};
  snapshot.service_ids.Assign("a");
  snapshot.service_ids.Assign("b");
  snapshot.service_ids.next = 9;
  snapshot.operator_stops = {{"b", {At(5), std::nullopt}}};
  snapshot.next_event_id = 100;
  return snapshot;
}

HostEvent Event(uint64_t id) {
  return {.id = id,
          .cause_id = id - 1,
          .time = At(static_cast<int64_t>(id) * 10),
          .kind = "worker_state",
          .group = "steady-1",
          .slot = 0,
          .generation = 3,
          .service = "",
          .from = "starting",
          .to = "ready",
          .message = "all \"ready\"",
          .uid = std::nullopt};
}

StateRevision Revision(uint64_t number) {
  StateRevision revision;
  revision.revision = number;
  revision.deployment = "x";
  revision.applied = At(1);
  return revision;
}

TEST(Database, GivesBackWhatWasWritten) {
  const StateFolder folder;
  {
    auto database = Database::Open(folder.path());
    ASSERT_TRUE(database.ok()) << database.status();
    ASSERT_TRUE(WriteSnapshot(**database, Sample()).ok());
  }
  auto database = Database::Open(folder.path());
  ASSERT_TRUE(database.ok()) << database.status();
  const auto loaded = (*database)->Load();
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(*loaded, Sample());
}

TEST(Database, KeepsTheNewestRevisions) {
  auto database = Database::Open("");
  for (uint64_t revision = 1; revision <= 5; ++revision) {
    ASSERT_TRUE((*database)->history().WriteRevision(Revision(revision), 2).ok());
  }
  EXPECT_EQ((*database)->Load()->revision->revision, 5u);
  EXPECT_THAT(*(*database)->history().Revisions(10), SizeIs(2));
}

// What the version before history did to a file, word for word.
TEST(Database, ThePreviousVersionGoesOnWithAFileOfThisOne) {
  const StateFolder folder;
  StateSnapshot sample = Sample();
  {
    auto database = Database::Open(folder.path());
    ASSERT_TRUE(WriteSnapshot(**database, sample).ok());
  }
  auto sqlite = Sqlite::Open(folder.path());
  ASSERT_TRUE(
      sqlite
          ->Script("CREATE TABLE IF NOT EXISTS revisions("
                   "  revision INTEGER PRIMARY KEY, deployment TEXT, applied INTEGER, uid INTEGER);"
                   "BEGIN IMMEDIATE;"
                   "INSERT OR REPLACE INTO revisions(revision, deployment, applied, uid)"
                   "  VALUES(99, 'later', 5, NULL);"
                   "DELETE FROM revisions WHERE revision NOT IN"
                   "  (SELECT revision FROM revisions ORDER BY revision DESC LIMIT 1000);"
                   "DELETE FROM placement;"
                   "INSERT INTO placement(service, grp, declared) VALUES('a', 'steady-1', 0);"
                   "COMMIT;")
          .ok());
  uint64_t revision = 0;
  ASSERT_TRUE(sqlite
                  ->Query("SELECT revision, deployment, applied, uid FROM revisions"
                          " ORDER BY revision DESC LIMIT 1",
                          {}, [&](const SqlRow& row) { revision = row.Integer(0); })
                  .ok());
  EXPECT_EQ(revision, 99u);
  // And this version with what the previous one has left: nothing is known of its services.
  auto database = Database::Open(folder.path());
  ASSERT_TRUE(database.ok()) << database.status();
  const auto loaded = (*database)->Load();
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->revision->deployment, "later");
  EXPECT_THAT(loaded->services, IsEmpty());
  EXPECT_EQ(loaded->pins, sample.pins);
}

TEST(Database, AWrittenPlacementReplacesTheOneBefore) {
  auto database = Database::Open("");
  ASSERT_TRUE(WriteSnapshot(**database, Sample()).ok());
  PlacementRecord placement;
  placement.services = {{"c", {"steady-5", false}}};
  placement.last_numbers = {{"steady", 5}};
  ASSERT_TRUE((*database)->WritePlacement(placement).ok());
  EXPECT_EQ((*database)->Load()->placement, placement);
}

TEST(Database, AnswersEventsInTheirOrder) {
  auto database = Database::Open("");
  for (const uint64_t id : {1, 2, 3, 4}) ASSERT_TRUE((*database)->WriteEvent(Event(id)).ok());
  EXPECT_THAT(*(*database)->EventsAfter(2, 10), ElementsAre(Event(3), Event(4)));
  EXPECT_THAT(*(*database)->EventsAfter(0, 2), ElementsAre(Event(1), Event(2)));
  EXPECT_THAT(*(*database)->EventsAfter(~0ull, 2), IsEmpty());
  EXPECT_THAT(*(*database)->LastEvents(2), ElementsAre(Event(3), Event(4)));
  EXPECT_EQ((*database)->Load()->next_event_id, 5u);
  ASSERT_TRUE((*database)->TrimEvents(1).ok());
  EXPECT_THAT(*(*database)->LastEvents(10), ElementsAre(Event(4)));
}

TEST(Database, ARolledBackTransactionLeavesNothing) {
  auto database = Database::Open("");
  ASSERT_TRUE((*database)->Begin(/*durable=*/true).ok());
  ASSERT_TRUE((*database)->WriteEvent(Event(1)).ok());
  (*database)->Rollback();
  EXPECT_THAT(*(*database)->LastEvents(10), IsEmpty());
}

TEST(Database, AnOlderReaderUsesAFileThatANewerOneExtended) {
  const StateFolder folder;
  {
    auto database = Database::Open(folder.path());
    ASSERT_TRUE(WriteSnapshot(**database, Sample()).ok());
  }
  {
    auto sqlite = Sqlite::Open(folder.path());
    ASSERT_TRUE(sqlite
                    ->Script("UPDATE meta SET value = 9 WHERE key = 'schema';"
                             "INSERT INTO meta VALUES('later', 'x');"
                             "ALTER TABLE placement ADD COLUMN later TEXT DEFAULT 'x';"
                             "ALTER TABLE events ADD COLUMN later TEXT;"
                             "ALTER TABLE meta ADD COLUMN later TEXT;"
                             "ALTER TABLE revisions ADD COLUMN later TEXT;"
                             "ALTER TABLE service_ids ADD COLUMN later TEXT;"
                             "ALTER TABLE group_numbers ADD COLUMN later TEXT;"
                             "ALTER TABLE operator_stops ADD COLUMN later TEXT;"
                             "CREATE TABLE later(x);")
                    .ok());
  }
  auto database = Database::Open(folder.path());
  ASSERT_TRUE(database.ok()) << database.status();
  EXPECT_EQ(*(*database)->Load(), Sample());
  EXPECT_TRUE(WriteSnapshot(**database, Sample()).ok());
  EXPECT_TRUE((*database)->WriteEvent(Event(1)).ok());
}

TEST(Database, RefusesWhatItCannotRead) {
  const auto status_after = [](const char* script) {
    const StateFolder folder;
    EXPECT_TRUE(Database::Open(folder.path()).ok());
    EXPECT_TRUE(Sqlite::Open(folder.path())->Script(script).ok());
    auto database = Database::Open(folder.path());
    return database.ok() ? (*database)->Load().status() : database.status();
  };
  const absl::Status newer =
      status_after("UPDATE meta SET value = 9; UPDATE meta SET value = 9 WHERE key = 'min_reader'");
  EXPECT_EQ(newer.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(newer.message()), HasSubstr("version 9"));
  for (const char* script :
       {"PRAGMA application_id = 5", "DELETE FROM meta", "UPDATE meta SET value = 'x'",
        "INSERT INTO service_ids VALUES('a', -1)", "INSERT INTO meta VALUES('next_event_id', -1)",
        "DROP TABLE revisions; CREATE TABLE revisions(x)"}) {
    EXPECT_EQ(status_after(script).code(), absl::StatusCode::kDataLoss) << script;
  }
}

}  // namespace
}  // namespace cohost::supervisor
