// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "supervisor/modules/module_store.h"
#include "supervisor/modules/tree/persist_rules.h"
#include "supervisor/modules/tree/tree_manifest.h"

namespace cohost::supervisor {

struct PublishedTree {
  TreeManifest manifest;
  // Lines for the operator: warnings of the store, what `persist` does not do, what was left out.
  std::vector<std::string> notices;
};

// Copies what is in an application's folder into the store, in one batch: all of it or nothing
// (file_role.h says how each file is kept). What `persist` names becomes data links and seeds.
// Symbolic links are kept as links when they are relative and stay in the folder. Empty folders are
// kept, since applications list them. Nothing outside the folder is ever read, whoever writes to it
// meanwhile; its parents are the operator's.
//
// Blocks on the disk; any thread that may wait. Errors name the folder:
//   ABORTED              something in it changed while it was read
//   INVALID_ARGUMENT     a pipe, socket or device; a link that leaves it; a bad assembly; a file
//                        where `persist` needs a folder
//   RESOURCE_EXHAUSTED   more than kMaxTreeEntries, deeper than kMaxTreeDepth, or the disk is full
//   NOT_FOUND, ...       of the system calls
absl::StatusOr<PublishedTree> PublishTree(ModuleStore& store, const std::string& folder,
                                          const PersistRules& persist);

}  // namespace cohost::supervisor
