// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/units.h"

namespace cohost::supervisor {

// Larger files are neither hashed nor signed: the module store takes none (kMaxStoredFile).
inline constexpr Bytes kMaxHashedFile = GiB(4);

// Whether `text` is a content hash as the module store writes it: 64 lower-case hexadecimal digits.
bool IsContentHash(std::string_view text);

// SHA-256 of the content of a file, read now from one descriptor. FAILED_PRECONDITION when it is
// not a regular file, RESOURCE_EXHAUSTED when it is longer than kMaxHashedFile, ABORTED when it
// changed while it was read. Blocks on the disk.
absl::StatusOr<std::string> HashOfFile(const std::string& path);

}  // namespace cohost::supervisor
