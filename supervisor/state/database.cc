// SPDX-License-Identifier: Apache-2.0
#include "supervisor/state/database.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/system/file.h"

namespace cohost::supervisor {

namespace {

constexpr int64_t kApplicationId = 0x436f4873;
constexpr int64_t kOldestReader = 1;
// SQLite's default, which MakeFile does not change.
constexpr off_t kPageSize = 4096;

constexpr char kTables[] =
    "CREATE TABLE IF NOT EXISTS meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS placement("
    "  service TEXT PRIMARY KEY, grp TEXT, declared INTEGER) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS group_numbers("
    "  class TEXT PRIMARY KEY, last INTEGER) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS service_ids("
    "  service TEXT PRIMARY KEY, id INTEGER) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS operator_stops("
    "  service TEXT PRIMARY KEY, time INTEGER, uid INTEGER) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS events("
    "  id INTEGER PRIMARY KEY, cause_id INTEGER, time INTEGER, kind TEXT, grp TEXT, slot INTEGER,"
    "  generation INTEGER, service TEXT, source TEXT, target TEXT, message TEXT, uid INTEGER);";

int64_t Micros(absl::Time time) { return absl::ToUnixMicros(time); }

template <typename Number>
SqlValue OrNull(const std::optional<Number>& number) {
  if (!number.has_value()) return std::monostate();
  return static_cast<int64_t>(*number);
}

template <typename Number>
std::optional<Number> Optional(const SqlRow& row, int column) {
  if (row.IsNull(column)) return std::nullopt;
  return static_cast<Number>(row.Integer(column));
}

// SQLite notices a missing page, but not the end of one that was cut off. With a log beside it the
// file may be in the middle of a checkpoint, which SQLite then completes.
absl::Status CheckSize(const std::string& path, off_t size) {
  if (size == 0) return absl::DataLossError("it is empty");
  struct stat log;
  const bool has_log = ::stat((path + "-wal").c_str(), &log) == 0 && log.st_size > 0;
  if (!has_log && size % kPageSize != 0) return absl::DataLossError("it is cut");
  return absl::OkStatus();
}

// A made database gets its name only when it is whole, so that a start that was interrupted leaves
// no half of one.
absl::Status MakeFile(const std::string& path) {
  const std::string made = path + ".new";
  for (const char* suffix : {"", "-journal", "-wal", "-shm"}) {
    if (::unlink((made + suffix).c_str()) != 0 && errno != ENOENT) {
      return ErrnoStatus(errno, "unlink", made + suffix);
    }
  }
  {
    COHOST_ASSIGN_OR_RETURN(Sqlite sqlite, Sqlite::Open(made));
    COHOST_RETURN_IF_ERROR(sqlite.Script("PRAGMA synchronous = FULL;"));
    COHOST_RETURN_IF_ERROR(sqlite.Script(
        absl::StrCat("BEGIN; PRAGMA application_id = ", kApplicationId, ";", kTables,
                     HistoryTables::kTables, "INSERT INTO meta VALUES('schema', ",
                     Database::kSchema, "), ('min_reader', ", kOldestReader, "); COMMIT;")
            .c_str()));
    COHOST_RETURN_IF_ERROR(sqlite.Script("PRAGMA journal_mode = WAL;"));
  }
  // Settings may hold what others should not read.
  if (::chmod(made.c_str(), 0600) != 0) return ErrnoStatus(errno, "chmod", made);
  if (::rename(made.c_str(), path.c_str()) != 0) return ErrnoStatus(errno, "rename", made);
  return SyncFolder(std::filesystem::path(path).parent_path());
}

HostEvent ReadEvent(const SqlRow& row) {
  HostEvent event;
  event.id = static_cast<uint64_t>(row.Integer(0));
  event.cause_id = static_cast<uint64_t>(row.Integer(1));
  event.time = absl::FromUnixMicros(row.Integer(2));
  event.kind = row.Text(3);
  event.group = row.Text(4);
  event.slot = Optional<uint32_t>(row, 5);
  event.generation = static_cast<uint32_t>(row.Integer(6));
  event.service = row.Text(7);
  event.from = row.Text(8);
  event.to = row.Text(9);
  event.message = row.Text(10);
  event.uid = Optional<uid_t>(row, 11);
  return event;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Database>> Database::Open(const std::string& path) {
  bool is_new = path.empty();
  if (!path.empty()) {
    struct stat status;
    if (::stat(path.c_str(), &status) != 0) {
      if (errno != ENOENT) return ErrnoStatus(errno, "stat", path);
      COHOST_RETURN_IF_ERROR(MakeFile(path));
    } else if (!S_ISREG(status.st_mode)) {
      return absl::DataLossError("it is not a regular file");
    } else {
      COHOST_RETURN_IF_ERROR(CheckSize(path, status.st_size));
    }
  }
  COHOST_ASSIGN_OR_RETURN(Sqlite sqlite, Sqlite::Open(path));
  auto database = std::unique_ptr<Database>(new Database(std::move(sqlite)));
  COHOST_RETURN_IF_ERROR(database->Prepare(is_new));
  return database;
}

absl::Status Database::Prepare(bool is_new) {
  if (is_new) return MakeTables();
  int64_t application_id = 0;
  COHOST_RETURN_IF_ERROR(sqlite_.Query(
      "PRAGMA application_id", {}, [&](const SqlRow& row) { application_id = row.Integer(0); }));
  if (application_id != kApplicationId) {
    return absl::DataLossError("it is a database of another program");
  }
  COHOST_ASSIGN_OR_RETURN(const uint64_t min_reader, MetaNumber("min_reader", 0));
  COHOST_ASSIGN_OR_RETURN(const uint64_t schema, MetaNumber("schema", 0));
  if (schema == 0 || min_reader == 0) return absl::DataLossError("it says no version");
  if (min_reader > static_cast<uint64_t>(kSchema)) {
    return absl::FailedPreconditionError(absl::StrCat("it is of version ", schema,
                                                      " and needs a reader of at least version ",
                                                      min_reader, "; this one is ", kSchema));
  }
  COHOST_RETURN_IF_ERROR(sqlite_.Script("PRAGMA journal_mode = WAL;"));
  return MakeTables();
}

absl::Status Database::MakeTables() {
  COHOST_RETURN_IF_ERROR(sqlite_.Script(kTables));
  return sqlite_.Script(HistoryTables::kTables);
}

absl::StatusOr<StateSnapshot> Database::Load() {
  StateSnapshot snapshot;
  COHOST_RETURN_IF_ERROR(
      sqlite_.Query("SELECT value FROM meta WHERE key = 'instance'", {},
                    [&](const SqlRow& row) { snapshot.instance = row.Text(0); }));
  COHOST_RETURN_IF_ERROR(history().Load(snapshot));
  COHOST_RETURN_IF_ERROR(LoadPlacement(snapshot));
  COHOST_RETURN_IF_ERROR(LoadOperatorStops(snapshot));
  COHOST_ASSIGN_OR_RETURN(snapshot.next_event_id, MetaNumber("next_event_id", 1));
  COHOST_RETURN_IF_ERROR(sqlite_.Query("SELECT max(id) FROM events", {}, [&](const SqlRow& row) {
    const auto last = static_cast<uint64_t>(std::max<int64_t>(row.Integer(0), 0));
    snapshot.next_event_id = std::max(snapshot.next_event_id, last + 1);
  }));
  return snapshot;
}

absl::Status Database::LoadPlacement(StateSnapshot& snapshot) {
  COHOST_RETURN_IF_ERROR(
      sqlite_.Query("SELECT service, grp, declared FROM placement", {}, [&](const SqlRow& row) {
        snapshot.placement.services[row.Text(0)] = {row.Text(1), row.Integer(2) != 0};
      }));
  COHOST_RETURN_IF_ERROR(
      sqlite_.Query("SELECT class, last FROM group_numbers", {}, [&](const SqlRow& row) {
        snapshot.placement.last_numbers[row.Text(0)] =
            static_cast<uint32_t>(std::clamp<int64_t>(row.Integer(1), 0, UINT32_MAX / 2));
      }));
  COHOST_ASSIGN_OR_RETURN(snapshot.service_ids.next, MetaNumber("next_service_id", 1));
  absl::Status wrong = absl::OkStatus();
  COHOST_RETURN_IF_ERROR(
      sqlite_.Query("SELECT service, id FROM service_ids", {}, [&](const SqlRow& row) {
        const int64_t id = row.Integer(1);
        if (id <= 0) wrong = absl::DataLossError("a service has a number below 1");
        snapshot.service_ids.ids[row.Text(0)] = static_cast<uint64_t>(id);
        snapshot.service_ids.next =
            std::max(snapshot.service_ids.next, static_cast<uint64_t>(id) + 1);
      }));
  return wrong;
}

absl::Status Database::LoadOperatorStops(StateSnapshot& snapshot) {
  return sqlite_.Query("SELECT service, time, uid FROM operator_stops", {}, [&](const SqlRow& row) {
    snapshot.operator_stops[row.Text(0)] = {absl::FromUnixMicros(row.Integer(1)),
                                            Optional<uid_t>(row, 2)};
  });
}

absl::Status Database::Begin(bool durable) {
  COHOST_RETURN_IF_ERROR(
      sqlite_.Script(durable ? "PRAGMA synchronous = FULL;" : "PRAGMA synchronous = NORMAL;"));
  return sqlite_.Run("BEGIN IMMEDIATE");
}

absl::Status Database::Commit() { return sqlite_.Run("COMMIT"); }

void Database::Rollback() {
  // Ignoring its result: after some errors SQLite has rolled back by itself.
  (void)sqlite_.Run("ROLLBACK");
}

absl::Status Database::WritePlacement(const PlacementRecord& placement) {
  COHOST_RETURN_IF_ERROR(sqlite_.Run("DELETE FROM placement"));
  for (const auto& [service, place] : placement.services) {
    COHOST_RETURN_IF_ERROR(
        sqlite_.Run("INSERT INTO placement(service, grp, declared) VALUES(?, ?, ?)",
                    {std::string_view(service), std::string_view(place.group),
                     int64_t{place.declared ? 1 : 0}}));
  }
  for (const auto& [load_class, last] : placement.last_numbers) {
    COHOST_RETURN_IF_ERROR(
        sqlite_.Run("INSERT OR REPLACE INTO group_numbers(class, last) VALUES(?, ?)",
                    {std::string_view(load_class), int64_t{last}}));
  }
  return absl::OkStatus();
}

absl::Status Database::WriteServiceIds(const ServiceIds& ids) {
  COHOST_RETURN_IF_ERROR(sqlite_.Run("DELETE FROM service_ids"));
  for (const auto& [service, id] : ids.ids) {
    COHOST_RETURN_IF_ERROR(sqlite_.Run("INSERT INTO service_ids(service, id) VALUES(?, ?)",
                                       {std::string_view(service), static_cast<int64_t>(id)}));
  }
  return WriteMeta("next_service_id", ids.next);
}

absl::Status Database::WriteOperatorStop(const std::string& service, const OperatorStop& stop) {
  return sqlite_.Run("INSERT OR REPLACE INTO operator_stops(service, time, uid) VALUES(?, ?, ?)",
                     {std::string_view(service), Micros(stop.time), OrNull(stop.uid)});
}

absl::Status Database::EraseOperatorStop(const std::string& service) {
  return sqlite_.Run("DELETE FROM operator_stops WHERE service = ?", {std::string_view(service)});
}

absl::Status Database::WriteInstance(const std::string& instance) {
  return WriteMeta("instance", instance);
}

absl::Status Database::WriteNextEventId(uint64_t id) { return WriteMeta("next_event_id", id); }

absl::StatusOr<uint64_t> Database::MetaNumber(const std::string& key, uint64_t otherwise) {
  uint64_t number = otherwise;
  absl::Status wrong = absl::OkStatus();
  COHOST_RETURN_IF_ERROR(sqlite_.Query(
      "SELECT value FROM meta WHERE key = ?", {std::string_view(key)}, [&](const SqlRow& row) {
        const int64_t value = row.Integer(0);
        if (value <= 0) {
          wrong = absl::DataLossError(absl::StrCat("'", key, "' is no positive number"));
        }
        number = static_cast<uint64_t>(value);
      }));
  if (!wrong.ok()) return wrong;
  return number;
}

absl::Status Database::WriteMeta(const std::string& key, const std::string& text) {
  return sqlite_.Run("INSERT OR REPLACE INTO meta(key, value) VALUES(?, ?)",
                     {std::string_view(key), std::string_view(text)});
}

absl::Status Database::WriteMeta(const std::string& key, uint64_t number) {
  return sqlite_.Run("INSERT OR REPLACE INTO meta(key, value) VALUES(?, ?)",
                     {std::string_view(key), static_cast<int64_t>(number)});
}

absl::Status Database::WriteEvent(const HostEvent& event) {
  return sqlite_.Run(
      "INSERT OR REPLACE INTO events(id, cause_id, time, kind, grp, slot, generation, service,"
      " source, target, message, uid) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      {static_cast<int64_t>(event.id), static_cast<int64_t>(event.cause_id), Micros(event.time),
       std::string_view(event.kind), std::string_view(event.group), OrNull(event.slot),
       int64_t{event.generation}, std::string_view(event.service), std::string_view(event.from),
       std::string_view(event.to), std::string_view(event.message), OrNull(event.uid)});
}

absl::Status Database::TrimEvents(size_t keep) {
  return sqlite_.Run(
      "DELETE FROM events WHERE id <= (SELECT id FROM events ORDER BY id DESC LIMIT 1 OFFSET ?)",
      {static_cast<int64_t>(keep)});
}

absl::StatusOr<std::vector<HostEvent>> Database::EventsAfter(uint64_t id, size_t limit) {
  std::vector<HostEvent> events;
  COHOST_RETURN_IF_ERROR(
      sqlite_.Query("SELECT id, cause_id, time, kind, grp, slot, generation, service, source,"
                    " target, message, uid FROM events WHERE id > ? ORDER BY id LIMIT ?",
                    {static_cast<int64_t>(std::min<uint64_t>(id, INT64_MAX)),
                     static_cast<int64_t>(std::min<size_t>(limit, INT64_MAX))},
                    [&](const SqlRow& row) { events.push_back(ReadEvent(row)); }));
  return events;
}

absl::StatusOr<std::vector<HostEvent>> Database::LastEvents(size_t count) {
  std::vector<HostEvent> events;
  COHOST_RETURN_IF_ERROR(
      sqlite_.Query("SELECT id, cause_id, time, kind, grp, slot, generation, service, source,"
                    " target, message, uid FROM events ORDER BY id DESC LIMIT ?",
                    {static_cast<int64_t>(std::min<size_t>(count, INT64_MAX))},
                    [&](const SqlRow& row) { events.push_back(ReadEvent(row)); }));
  std::reverse(events.begin(), events.end());
  return events;
}

}  // namespace cohost::supervisor
