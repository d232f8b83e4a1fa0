// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "supervisor/state/saved_state.h"
#include "supervisor/state/sqlite.h"

namespace cohost::supervisor {

// Tables of the state file (database.h) about what was in force and when. One thread at a time; the
// database outlives it. Writes are inside a transaction of the caller's.
//
//   revisions(revision INTEGER PRIMARY KEY, deployment TEXT, applied INTEGER, uid INTEGER)
//   revision_notes(revision INTEGER PRIMARY KEY, action TEXT, summary TEXT)
//   service_changes(service TEXT, revision INTEGER, fingerprint INTEGER, module TEXT, images TEXT,
//     source TEXT, action TEXT, time INTEGER, uid INTEGER, PRIMARY KEY(service, revision))
//     module: SHA-256, empty for a service that was removed; images: a line "SHA-256 NAME" each
//   pins(service TEXT PRIMARY KEY, replaced INTEGER, revision INTEGER)
//   modules(hash TEXT PRIMARY KEY, kind TEXT, size INTEGER, source TEXT, published INTEGER,
//     uid INTEGER)
// A row whose action or images make no sense is read without them: history never stops a start.
class HistoryTables {
 public:
  // Changes of a service that is not deployed any more are kept for so long.
  static constexpr absl::Duration kKeepRemoved = absl::Hours(30 * 24);

  static const char kTables[];

  explicit HistoryTables(Sqlite& sqlite) : sqlite_(sqlite) {}

  // The latest revision, the services in force and the pins.
  absl::Status Load(StateSnapshot& snapshot);

  // Keeps the newest `keep`.
  absl::Status WriteRevision(const StateRevision& revision, size_t keep);
  // A change and what goes with its age.
  absl::Status WriteServiceChange(const ServiceChange& change);
  absl::Status ForgetRemoved(absl::Time now);
  absl::Status WritePins(const std::map<std::string, ServicePin>& pins);
  // What is known stays as it is.
  absl::Status WriteModules(const std::vector<ModuleRecord>& modules);
  absl::Status EraseModules(const std::set<std::string>& hashes);

  // Without their texts, the newest first.
  absl::StatusOr<std::vector<StateRevision>> Revisions(size_t limit);
  // NOT_FOUND when it is not kept.
  absl::StatusOr<StateRevision> Revision(uint64_t revision);
  // The newest first.
  absl::StatusOr<std::vector<ServiceChange>> Changes(const std::string& service, size_t limit);
  // What was in force in that revision, by service.
  absl::StatusOr<std::map<std::string, ServiceChange>> ChangesAt(uint64_t revision);
  // Of every file that some kept change names.
  absl::StatusOr<std::set<std::string>> Hashes();
  absl::StatusOr<std::map<std::string, ModuleRecord>> Modules();

 private:
  absl::Status LoadServices(StateSnapshot& snapshot);

  Sqlite& sqlite_;
};

}  // namespace cohost::supervisor
