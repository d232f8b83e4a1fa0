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

// Checks every file of the store, and that all of `needed` are there, removes those that nobody
// needs, with what is known of them (signatures, what they were compiled of), or both. `keep` are
// the hashes that somebody needs. Blocks on the disk; nothing may be published meanwhile.
absl::StatusOr<StoreOutcome> CareForStore(ModuleStore& store, const std::set<std::string>& keep,
                                          const std::vector<NeededFile>& needed, bool check,
                                          bool collect);

}  // namespace cohost::supervisor
