// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "supervisor/state/database.h"
#include "supervisor/state/saved_state.h"

namespace cohost::supervisor {

// A database that can be written, with what it holds.
struct OpenedDatabase {
  std::unique_ptr<Database> database;
  StateSnapshot snapshot;
  // For the operator, one line each.
  std::vector<std::string> notices;
};

// Opens the state file, whatever state it is in. One that is damaged or too new is renamed to
// PATH.damaged-TIME (never deleted) and a new one is made; numbers of services and events then
// begin at the present time in milliseconds, so that they do not meet those that were lost. Where
// no file can be made, the database is in memory.
OpenedDatabase OpenStateFile(const std::string& path);

// Sets a file aside while running and makes a new one that holds `known`.
OpenedDatabase ReplaceStateFile(const std::string& path, const StateSnapshot& known,
                                const absl::Status& why);

// Writes all of a snapshot.
absl::Status WriteSnapshot(Database& database, const StateSnapshot& snapshot);

}  // namespace cohost::supervisor
