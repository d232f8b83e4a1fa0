// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace cohost {

// The first 16 bytes of the running executable's GNU build id as 32 lower-case hexadecimal digits:
// two binaries with the same one are the same build. "unknown" when it was linked without one.
std::string BuildId();

}  // namespace cohost
