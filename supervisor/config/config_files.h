// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/units.h"

namespace cohost::supervisor {

// Reads the files of one deployment and notices when one changes before all are read: half an old
// and half a new configuration is nobody's. Not thread-safe.
class ConfigFiles {
 public:
  // `limit` for each file, `total` for all.
  ConfigFiles(Bytes limit, Bytes total) : limit_(limit), total_(total) {}

  // Regular files only; a FIFO or a device is refused at once.
  absl::StatusOr<std::string> Read(const std::string& path);

  // Those that were read and are no longer what they were: written, replaced or removed.
  std::vector<std::string> Changed() const;

  // In the order of reading.
  const std::vector<std::string>& paths() const { return paths_; }

 private:
  // Set in the constructor, never changed.
  const Bytes limit_;
  const Bytes total_;
  uint64_t read_ = 0;
  std::vector<std::string> paths_;
  // As paths_, from before each was read.
  std::vector<struct stat> stats_;
};

// The files that an `include` pattern names, sorted. Wildcards stand in the last part only. A
// pattern with one may match nothing; a plain path is returned as it is, whether it exists or not.
absl::StatusOr<std::vector<std::string>> ExpandInclude(const std::string& folder,
                                                       const std::string& pattern);

}  // namespace cohost::supervisor
