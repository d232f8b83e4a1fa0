// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
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

// pread(2) up to `length` bytes, EINTR and short reads retried. The number of bytes read: less than
// `length` only where the file ends, 0 when `offset` lies behind it, so that offsets and lengths
// may come from a hostile file.
absl::StatusOr<size_t> ReadAt(int fd, uint64_t offset, void* to, size_t length);

// Writes all of `bytes`, retrying EINTR and short writes.
absl::Status WriteAll(int fd, std::string_view bytes);

// Replaces `path` so that a reader, or a power cut, sees the old content or the new: temporary file
// in the same folder, fsync, rename, fsync of the folder.
absl::Status WriteFileAtomically(const std::string& path, std::string_view content, mode_t mode);

// mkdir -p; an existing folder is left as it is.
absl::Status MakeFolders(const std::string& path, mode_t mode);

absl::Status SyncFolder(const std::string& path);

}  // namespace cohost
