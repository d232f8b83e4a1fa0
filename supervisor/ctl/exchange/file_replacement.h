// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace cohost::supervisor {

// A deployment file that was replaced by another one. The old one is kept beside it, as
// NAME.before-import-TIME, and can be put back as it was: the same file with its owner and mode, or
// the same symbolic link. A reader, or a power cut, sees the old file or the new one. One thread at
// a time; blocks on the disk. Its end changes nothing.
class FileReplacement {
 public:
  // `expected` is what was read from the file before: ABORTED when it is something else by now. The
  // new file has owner and mode of the old one. An error leaves everything as it was.
  static absl::StatusOr<FileReplacement> Replace(const std::string& path, std::string_view expected,
                                                 std::string_view content, absl::Time time);

  // Where the old one is.
  const std::string& kept() const { return kept_; }
  absl::Status PutBack();

 private:
  FileReplacement(std::string path, std::string kept)
      : path_(std::move(path)), kept_(std::move(kept)) {}

  std::string path_;
  std::string kept_;
};

}  // namespace cohost::supervisor
