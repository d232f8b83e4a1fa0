// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>

#include <new>

#include "base/format/segment.h"

namespace cohost {

// A segment in memory of the test's own. Pages that are not touched cost nothing.
class SegmentMemory {
 public:
  SegmentMemory()
      : memory_(mmap(nullptr, sizeof(Segment), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                     -1, 0)) {
    if (memory_ == MAP_FAILED) throw std::bad_alloc();
    InitializeSegment(segment(), 1);
  }
  ~SegmentMemory() { munmap(memory_, sizeof(Segment)); }
  SegmentMemory(const SegmentMemory&) = delete;
  SegmentMemory& operator=(const SegmentMemory&) = delete;

  Segment& segment() { return *static_cast<Segment*>(memory_); }

 private:
  void* const memory_;
};

}  // namespace cohost
