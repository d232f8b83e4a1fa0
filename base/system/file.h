// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/system/unique_fd.h"
#include "base/units.h"

namespace cohost {

// open(2) with O_CLOEXEC, EINTR retried.
absl::StatusOr<UniqueFd> OpenFile(const std::string& path, int flags, mode_t mode = 0);

// The whole file, read from one descriptor. RESOURCE_EXHAUSTED when it is longer than `limit`,
// FAILED_PRECONDITION when it is not a regular file.
absl::StatusOr<std::string> ReadRegularFile(const std::string& path, Bytes limit);

// Writes all of `bytes`, retrying EINTR and short writes.
absl::Status WriteAll(int fd, std::string_view bytes);

// Replaces `path` so that a reader, or a power cut, sees the old content or the new: temporary file
// in the same folder, fsync, rename, fsync of the folder.
absl::Status WriteFileAtomically(const std::string& path, std::string_view content, mode_t mode);

// mkdir -p; an existing folder is left as it is.
absl::Status MakeFolders(const std::string& path, mode_t mode);

absl::Status SyncFolder(const std::string& path);

}  // namespace cohost
