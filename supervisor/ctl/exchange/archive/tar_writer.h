// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace cohost::supervisor {

// Writes regular files of root as a tar archive (POSIX.1-1988 ustar): what every tar reads, for
// names of up to 100 bytes and files of less than 8 GiB. Written here, while reading is
// libarchive's: its writer drags in every format that it knows, as 14 shared libraries that cost
// cohostctl 6 ms at each start, and all that we need of it is the header below. One thread at a
// time; the descriptor outlives it. After an error the archive is not to be used.
class TarWriter {
 public:
  TarWriter(int fd, absl::Time time) : fd_(fd), time_(time) {}

  // The next file; its content follows, exactly `size` bytes in as many parts as wanted.
  // INVALID_ARGUMENT for a name or size that cannot be written, FAILED_PRECONDITION when the
  // content of the file before is not complete.
  absl::Status Begin(std::string_view name, uint64_t size);
  // OUT_OF_RANGE when it is more than was announced.
  absl::Status Write(std::string_view bytes);
  absl::Status Add(std::string_view name, std::string_view content);
  // The end of the archive.
  absl::Status Finish();

 private:
  // Set in the constructor, never changed.
  const int fd_;
  const absl::Time time_;
  // Of the file under way.
  uint64_t left_ = 0;
  uint64_t padding_ = 0;
};

}  // namespace cohost::supervisor
