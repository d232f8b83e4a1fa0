// SPDX-License-Identifier: Apache-2.0
#include "base/format/segment.h"

namespace cohost {

void InitializeSegment(Segment& segment, uint32_t generation) {
  SegmentHeader& header = segment.header;
  header.magic = kSegmentMagic;
  header.version = kSegmentVersion;
  header.header_size = sizeof(SegmentHeader);
  header.size = sizeof(Segment);
  header.generation = generation;
  header.thread_slots = kThreadSlots;
  header.service_rows = kServiceRows;
  header.stripes = kStripes;
  header.latency_buckets = kLatencyBuckets;
  header.thread_slots_offset = offsetof(Segment, threads);
  header.service_rows_offset = offsetof(Segment, rows);
  header.crash_record_offset = offsetof(Segment, crash);
}

bool IsReadableSegment(const Segment& segment) {
  const SegmentHeader& header = segment.header;
  return header.magic == kSegmentMagic && header.version == kSegmentVersion &&
         header.header_size == sizeof(SegmentHeader) && header.size == sizeof(Segment) &&
         header.thread_slots == kThreadSlots && header.service_rows == kServiceRows &&
         header.stripes == kStripes && header.latency_buckets == kLatencyBuckets &&
         header.thread_slots_offset == offsetof(Segment, threads) &&
         header.service_rows_offset == offsetof(Segment, rows) &&
         header.crash_record_offset == offsetof(Segment, crash);
}

}  // namespace cohost
