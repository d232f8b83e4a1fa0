// SPDX-License-Identifier: Apache-2.0
#include "worker/control/segment_map.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/status/status.h"
#include "base/status.h"

namespace cohost::worker {

absl::StatusOr<SegmentMap> SegmentMap::Open(UniqueFd fd, std::string_view binary_id) {
  struct stat status;
  if (::fstat(fd.get(), &status) != 0) return ErrnoStatus(errno, "fstat", "segment");
  if (!S_ISREG(status.st_mode) || status.st_size < static_cast<off_t>(sizeof(Segment))) {
    return absl::FailedPreconditionError("the segment is not a file of the segment's size");
  }
  // Without the seals somebody could shrink it, and every store would be a SIGBUS.
  constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  const int seals = ::fcntl(fd.get(), F_GET_SEALS);
  if (seals < 0) return ErrnoStatus(errno, "fcntl(F_GET_SEALS)", "segment");
  if ((seals & kSeals) != kSeals) {
    return absl::FailedPreconditionError("the segment is not sealed against a change of size");
  }
  void* const address =
      ::mmap(nullptr, sizeof(Segment), PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (address == MAP_FAILED) return ErrnoStatus(errno, "mmap", "segment");
  auto* const segment = static_cast<Segment*>(address);
  if (!IsReadableSegment(*segment)) {
    (void)::munmap(address, sizeof(Segment));
    return absl::FailedPreconditionError("the segment has another version or layout");
  }
  segment->header.pid = static_cast<uint32_t>(::getpid());
  segment->header.binary_id.fill('\0');
  std::copy_n(binary_id.begin(), std::min(binary_id.size(), segment->header.binary_id.size()),
              segment->header.binary_id.begin());
  return SegmentMap(segment);
}

}  // namespace cohost::worker
