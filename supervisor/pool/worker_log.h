// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "base/system/unique_fd.h"
#include "base/units.h"

namespace cohost::supervisor {

// The file that a slot's workers write stdout and stderr to: <folder>/<group>-<slot>.log, and when
// it has grown too large .1, .2, ... up to the number of files that are kept. Files only, so that
// output never blocks a service. Generations of one slot append to the same file. Loop thread only.
class WorkerLog {
 public:
  WorkerLog(const std::string& folder, const std::string& group, uint32_t slot);

  const std::string& path() const { return path_; }
  // For appending, created with mode 0640 when it is not there.
  absl::StatusOr<UniqueFd> Open() const;
  // Whether the file has reached `limit`, or is gone (somebody deleted or moved it).
  bool NeedsRotation(Bytes limit) const;
  // Renames, keeping `files` in all, and opens the new file. Workers write on into the renamed file
  // until they get the new descriptor, so no line is lost.
  absl::StatusOr<UniqueFd> Rotate(uint32_t files) const;

 private:
  // Set in the constructor, never changed.
  const std::string path_;
};

}  // namespace cohost::supervisor
