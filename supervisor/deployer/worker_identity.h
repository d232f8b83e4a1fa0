// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "supervisor/config/deployment.h"
#include "supervisor/process/process_launcher.h"

namespace cohost::supervisor {

// The user that workers of a group run as when its identity names none and Cohost was started as
// root.
inline constexpr char kDefaultWorkerUser[] = "cohost";

// A group's identity as numbers. Without root there is nothing to choose: only the starting user's
// own name, or none, is accepted, and the result is unset. FAILED_PRECONDITION says what to do
// about a user that does not exist. Asks the system's account database.
absl::StatusOr<ProcessIdentity> ResolveIdentity(const GroupIdentity& identity, bool as_root);

// The name for people of whom the workers run as.
std::string IdentityName(const ProcessIdentity& identity);

}  // namespace cohost::supervisor
