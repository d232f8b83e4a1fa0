// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace cohost {

// The first 16 bytes of the running executable's GNU build id as 32 lower-case hexadecimal digits:
// two binaries with the same one are the same build. "unknown" when it was linked without one.
std::string BuildId();

// The same of an executable or shared object of this machine's class that is not running: read with
// pread(2), none of its numbers is trusted. INVALID_ARGUMENT when it is no such file.
absl::StatusOr<std::string> BuildIdOfFile(const std::string& path);

}  // namespace cohost
