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

absl::Time At(int64_t micros) { return absl::FromUnixMicros(micros); }

StateSnapshot Sample() {
  StateSnapshot snapshot;
  snapshot.instance = "0123456789abcdef0123456789abcdef";
  snapshot.revision = StateRevision{7, "version: 1\nsecret: ${env:X}\n", At(1'234'567), 1000};
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
    ASSERT_TRUE((*database)->WriteRevision({revision, "x", At(1), std::nullopt}, 2).ok());
  }
  EXPECT_EQ((*database)->Load()->revision->revision, 5u);
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
