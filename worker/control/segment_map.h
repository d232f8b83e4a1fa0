// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "base/format/segment.h"
#include "base/system/unique_fd.h"

namespace cohost::worker {

// The worker's writable mapping of its segment, kept until the process ends: threads that nobody
// can stop (a module's own) may write to it until then. Movable, not copyable; what is in it is
// accessed as base/format/segment.h says.
class SegmentMap {
 public:
  // Checks size, seals and header, maps, and signs the header with this process's id and
  // `binary_id`. FAILED_PRECONDITION when it is not a segment that this build can write.
  static absl::StatusOr<SegmentMap> Open(UniqueFd fd, std::string_view binary_id);

  Segment& segment() const { return *segment_; }

 private:
  explicit SegmentMap(Segment* segment) : segment_(segment) {}

  Segment* segment_;
};

}  // namespace cohost::worker
