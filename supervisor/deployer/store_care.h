// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "supervisor/admin/host_control.h"
#include "supervisor/modules/module_store.h"

namespace cohost::supervisor {

// Another process (a supervisor that is being replaced) may have published a file just now.
inline constexpr absl::Duration kLeastUnusedAge = absl::Minutes(10);

// A file that a service in force runs with.
struct NeededFile {
  std::string service;
  std::string source;
  std::string hash;
  StoredKind kind = StoredKind::kModule;
};

// What somebody needs of a store.
struct StoreNeeds {
  // Hashes of modules and images, and ids of trees, that are in force or that a rollback can go
  // back to. What the manifests of these trees name is needed too.
  std::set<std::string> versions;
  std::vector<NeededFile> files;
};

struct StoreTasks {
  bool check = false;
  bool collect = false;
};

// Checks every file of the store, and that all of `needs.files` are there, removes those that
// nobody needs, with what is known of them (signatures, what they were compiled of), and trees in
// `state` (STATE/trees) of other versions, or both. Blocks on the disk; nothing may be published
// meanwhile.
absl::StatusOr<StoreOutcome> CareForStore(ModuleStore& store, const std::string& state,
                                          const StoreNeeds& needs, StoreTasks tasks);

}  // namespace cohost::supervisor
