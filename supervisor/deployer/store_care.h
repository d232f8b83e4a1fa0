// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "supervisor/admin/host_control.h"
#include "supervisor/modules/module_store.h"

namespace cohost::supervisor {

// Another process (a supervisor that is being replaced) may have published a file just now.
inline constexpr absl::Duration kLeastUnusedAge = absl::Minutes(10);

// Checks every file of the store, removes those that nobody needs, with what is known of them
// (signatures, what they were compiled of), or both. `keep` are the hashes that somebody needs.
// Blocks on the disk; nothing may be published meanwhile.
absl::StatusOr<StoreOutcome> CareForStore(ModuleStore& store, const std::set<std::string>& keep,
                                          bool check, bool collect);

}  // namespace cohost::supervisor
