// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "absl/status/status.h"

namespace cohost::supervisor {

// Removes `name` in the folder behind the descriptor, with all that is in it, also from folders
// that nobody may write, or that belong to another user when we may change owners. Follows no
// symbolic link, whoever changes things meanwhile. Names that are
// not there are fine. FAILED_PRECONDITION when it is deeper than 256 folders.
absl::Status RemoveBelow(int folder, const std::string& name);

}  // namespace cohost::supervisor
