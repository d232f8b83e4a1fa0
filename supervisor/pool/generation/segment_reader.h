// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/format/segment.h"
#include "base/system/unique_fd.h"
#include "supervisor/snapshot.h"

namespace cohost::supervisor {

// The moment of one service in one worker, as its segment row says it.
struct RowGauges {
  RowState state = RowState::kFree;
  uint32_t in_flight = 0;
  uint32_t queued = 0;
  std::optional<absl::Duration> oldest_request_age;
  std::optional<absl::Duration> oldest_queued_age;
  uint64_t allocated_bytes = 0;
};

// The supervisor's view of one worker's segment (base/format/segment.h), mapped read-only. The
// worker is distrusted: each value is copied once and checked, rows outside the table or of another
// service are refused, and a counter that fell keeps its last value and is remembered as a fault.
// Loop thread only. Ending it unmaps; the worker and the keeper have descriptors of their own.
class SegmentReader {
 public:
  // A fresh sealed segment for `generation`. The descriptor is for the worker and the keeper; it
  // can be closed after that.
  static absl::StatusOr<std::pair<UniqueFd, std::unique_ptr<SegmentReader>>> Create(
      uint32_t generation);
  // One that an earlier supervisor made. INVALID_ARGUMENT when it is not sealed, not a segment of
  // this version, or of another size. Finds the rows in use.
  static absl::StatusOr<std::unique_ptr<SegmentReader>> Open(UniqueFd segment);
  ~SegmentReader();
  SegmentReader(const SegmentReader&) = delete;
  SegmentReader& operator=(const SegmentReader&) = delete;

  // Takes note of the row that the worker gave to a service, for the rest of the generation.
  // INVALID_ARGUMENT when the row is out of range, another service's, or says another id.
  absl::Status AddRow(uint64_t service_id, uint32_t row);

  // Totals of a service in this worker; zeros when it has no row here. Never less than before.
  ServiceTotals Totals(uint64_t service_id);
  RowGauges Gauges(uint64_t service_id, SteadyTime now);

  // Totals of every service whose row is known.
  std::map<uint64_t, ServiceTotals> KnownTotals();
  // Looks for rows that nobody took note of first.
  std::map<uint64_t, ServiceTotals> AllTotals();
  // Services whose row says that it is being loaded.
  std::vector<uint64_t> LoadingServices();

  // Of the I/O loop's last turn; zero before the first. For the stall detection.
  SteadyTime loop_progress() const;
  uint64_t accept_progress() const;
  // Never less than before.
  uint64_t accept_errors();
  uint64_t thread_slot_overflows() const;
  uint64_t log_bytes_dropped() const;

  // Empty, or the first thing that a worker keeping the rules would not have written.
  const std::string& fault() const { return fault_; }

 private:
  struct Row {
    uint64_t service_id = 0;
    ServiceTotals last;
  };

  SegmentReader(UniqueFd segment, const Segment* mapped);
  // Open, without looking for rows in use.
  static absl::StatusOr<std::unique_ptr<SegmentReader>> MapChecked(UniqueFd segment);
  absl::Status FindRows();
  const ServiceTotals& Read(uint32_t number, Row& row);
  void Fault(std::string what);

  // Set in the constructor, never changed.
  UniqueFd descriptor_;
  const Segment* const segment_;
  // Loop thread only.
  std::map<uint32_t, Row> rows_;  // by number; a service that came back may have several
  uint64_t accept_errors_ = 0;
  std::string fault_;
};

}  // namespace cohost::supervisor
