// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/system/unique_fd.h"

namespace cohost::supervisor {

// The lines of a log file as it grows. A file that is rotated (renamed, then made again) is read to
// its end, then the new one from its start; one that was cut is read from its start. A file that is
// not there is waited for. Not thread-safe; blocks on the disk only.
class LogFile {
 public:
  // A longer line is cut; the rest of it is skipped.
  static constexpr size_t kLongestLine = 64 << 10;
  // How far back from the end ReadTail begins.
  static constexpr size_t kTail = 1 << 20;

  enum class From { kStart, kTail, kEnd };
  LogFile(std::string path, From from) : path_(std::move(path)), from_(from) {}

  const std::string& path() const { return path_; }

  // The next complete lines without their ends, about `limit` (all that one block read holds).
  std::vector<std::string> Read(size_t limit);

 private:
  bool Open();
  // True when the path names another file now, or this one was cut.
  bool WasReplaced() const;
  void Split(std::string_view block, std::vector<std::string>& lines);

  const std::string path_;
  From from_;
  UniqueFd fd_;
  uint64_t offset_ = 0;
  // Begin of a line whose end is not written yet.
  std::string partial_;
  bool skipping_ = false;
};

}  // namespace cohost::supervisor
