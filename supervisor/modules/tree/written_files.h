// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/units.h"
#include "supervisor/modules/module_store.h"
#include "supervisor/modules/tree/tree_manifest.h"

namespace cohost::supervisor {

// A path of a tree that is not what the manifest says.
struct WrittenFile {
  enum class Change { kAdded, kChanged, kMissing };
  std::string path;
  Change change = Change::kAdded;
  Bytes size;  // now; of missing ones: before

  friend bool operator==(const WrittenFile&, const WrittenFile&) = default;
};

struct WrittenFiles {
  std::vector<WrittenFile> files;  // sorted by path
  // There is more than is looked at.
  bool is_cut = false;
};

enum class WrittenCheck {
  kMetadata,  // inodes, sizes, times, link targets; content only where these leave a doubt
  kContent,   // also every file's hash: reads all of the tree
};

// What was written into a laid-out tree by a service that ignores `persist` (possible when its
// worker runs with our own identity): names added (files, and folders with nothing in them),
// changed, and missing. Permissions do not count. What is there is hostile: nothing is followed,
// and at most twice kMaxTreeEntries names are looked at. Blocks on the disk; any thread that may
// wait.
absl::StatusOr<WrittenFiles> FindWritten(const ModuleStore& store, const std::string& tree,
                                         const std::string& service, const TreeManifest& manifest,
                                         WrittenCheck check);

}  // namespace cohost::supervisor
