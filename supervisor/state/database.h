// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "supervisor/host_event.h"
#include "supervisor/state/history_tables.h"
#include "supervisor/state/saved_state.h"
#include "supervisor/state/sqlite.h"

namespace cohost::supervisor {

// The state file: a SQLite database in WAL mode. One thread at a time; State calls it from its own.
//
// Format: PRAGMA application_id 0x436f4873 ("CoHs"); times are microseconds since 1970 UTC, absent
// values NULL.
//   meta(key TEXT PRIMARY KEY, value)
//     schema: version of the writer that touched the file last; min_reader: lowest version that can
//     use it; instance; next_service_id; next_event_id (a bound that no id given so far reaches)
//   revisions, revision_notes, service_changes, pins, modules: history_tables.h
//   placement(service TEXT PRIMARY KEY, grp TEXT, declared INTEGER)
//   group_numbers(class TEXT PRIMARY KEY, last INTEGER)
//   service_ids(service TEXT PRIMARY KEY, id INTEGER)
//   operator_stops(service TEXT PRIMARY KEY, time INTEGER, uid INTEGER)
//   events(id INTEGER PRIMARY KEY, cause_id, time, kind, grp, slot, generation, service, source,
//     target, message, uid)
// Later versions add tables, columns with defaults and meta keys, and leave those above as they
// are: an older binary ignores what it does not know and goes on. What it could not read at all
// would raise min_reader.
class Database {
 public:
  static constexpr int kSchema = 1;

  // Makes the file when there is none. DATA_LOSS when it is not a database of ours or damaged,
  // FAILED_PRECONDITION when a newer version says that this one cannot read it, other codes when
  // the system refuses. An empty `path` is a database in memory.
  static absl::StatusOr<std::unique_ptr<Database>> Open(const std::string& path);

  // All but events and older revisions. DATA_LOSS when the content makes no sense.
  absl::StatusOr<StateSnapshot> Load();

  // What was in force and when.
  HistoryTables history() { return HistoryTables(sqlite_); }

  // Transactions of the following writes wait for the disk, or not.
  absl::Status Begin(bool durable);
  absl::Status Commit();
  void Rollback();

  // Inside a transaction.
  absl::Status WritePlacement(const PlacementRecord& placement);
  absl::Status WriteServiceIds(const ServiceIds& ids);
  absl::Status WriteOperatorStop(const std::string& service, const OperatorStop& stop);
  absl::Status EraseOperatorStop(const std::string& service);
  absl::Status WriteEvent(const HostEvent& event);
  // Keeps the newest `keep`.
  absl::Status TrimEvents(size_t keep);
  absl::Status WriteInstance(const std::string& instance);
  absl::Status WriteNextEventId(uint64_t id);

  absl::StatusOr<std::vector<HostEvent>> EventsAfter(uint64_t id, size_t limit);
  absl::StatusOr<std::vector<HostEvent>> LastEvents(size_t count);

 private:
  explicit Database(Sqlite sqlite) : sqlite_(std::move(sqlite)) {}

  absl::Status Prepare(bool is_new);
  absl::Status MakeTables();
  absl::StatusOr<uint64_t> MetaNumber(const std::string& key, uint64_t otherwise);
  absl::Status WriteMeta(const std::string& key, const std::string& text);
  absl::Status WriteMeta(const std::string& key, uint64_t number);
  absl::Status LoadPlacement(StateSnapshot& snapshot);
  absl::Status LoadOperatorStops(StateSnapshot& snapshot);

  Sqlite sqlite_;
};

}  // namespace cohost::supervisor
