// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/system/unique_fd.h"
#include "base/units.h"

namespace cohost::supervisor {

// A file that comes in parts: mode 0600, under a name of its own beside `path` until it is whole,
// so that half a dump is never taken for one. Its end without Finish, and an end of the process by
// SIGINT, SIGTERM or SIGHUP, leave nothing. One at a time in a process.
class ReceivedFile {
 public:
  static absl::StatusOr<ReceivedFile> Create(const std::string& path);
  ReceivedFile(ReceivedFile&& other) noexcept;
  ReceivedFile& operator=(ReceivedFile&&) = delete;
  ~ReceivedFile();

  absl::Status Write(std::string_view bytes);
  // On the disk and under its name; a file that was there is replaced.
  absl::Status Finish();

  const std::string& path() const { return path_; }
  Bytes size() const { return size_; }

 private:
  ReceivedFile(std::string path, std::string temporary, UniqueFd fd);

  std::string path_;
  std::string temporary_;  // empty: it is gone or has its name
  UniqueFd fd_;
  Bytes size_;
};

}  // namespace cohost::supervisor
