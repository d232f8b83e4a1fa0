// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "supervisor/modules/tree/folder_walk.h"
#include "supervisor/modules/tree/glob.h"

namespace cohost::supervisor {

// What of one application's folder belongs into the service's data folder.
struct PersistPlan {
  // Links to folders of the data folder; sorted, none below another.
  std::vector<std::string> folders;
  // Links to single files, there or not; sorted, none below a folder above.
  std::vector<std::string> files;
  // Lines for the operator: what a pattern does not do though one may think so.
  std::vector<std::string> notices;

  // Whether the path is in one of the folders.
  bool IsInFolder(std::string_view path) const;
  // Whether it is one of the files or in one of the folders.
  bool Holds(std::string_view path) const;
};

// `persist`: which files of an application are the service's own to write, so that they live in its
// data folder and outlast revisions. The tree has symbolic links to them, and is read-only apart
// from them; hence what a pattern does depends on its form:
//
//   uploads/**      the folder as a whole: whatever is or will be in it
//   app.db          this file, also when the application makes it later (it may: creating a file
//                   through a symbolic link makes what that points to; SQLite keeps its journals
//                   beside the real file). Names a folder of the application: as app.db/**
//   data/*.db       when all files of the folder match patterns, or there is no such folder yet:
//                   the folder as a whole. Otherwise the files that are there already, each by a
//                   link of its own; others cannot be created, since the folder is the tree's
//   *.db            in the application's own folder: the files that are there already
//
// "There already" means in the folder that is deployed, or in the data folder. Immutable.
class PersistRules {
 public:
  static constexpr size_t kMostPatterns = 64;

  // Nothing persists.
  PersistRules() = default;
  // INVALID_ARGUMENT for a bad pattern (glob.h), one that matches everything, or too many.
  static absl::StatusOr<PersistRules> Parse(const std::vector<std::string>& patterns);

  bool Matches(std::string_view path) const;
  // `entries`: all of the application's folder, sorted. INVALID_ARGUMENT when something is in the
  // way: a file where a pattern needs a folder.
  absl::StatusOr<PersistPlan> Plan(const std::vector<WalkedEntry>& entries) const;

 private:
  class Planner;
  std::vector<Glob> globs_;
};

}  // namespace cohost::supervisor
