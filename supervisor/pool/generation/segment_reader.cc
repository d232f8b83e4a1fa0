// SPDX-License-Identifier: Apache-2.0
#include "supervisor/pool/generation/segment_reader.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/system/file.h"
#include "supervisor/pool/generation/sealed_memory.h"

namespace cohost::supervisor {
namespace {

uint64_t Load(const std::atomic<uint64_t>& value) { return value.load(std::memory_order_relaxed); }
uint32_t Load(const std::atomic<uint32_t>& value) { return value.load(std::memory_order_relaxed); }

// Adds one counter of a stripe to its total.
void Add(uint64_t& total, const std::atomic<uint64_t>& counter) { total += Load(counter); }

template <size_t kSize>
void Add(std::array<uint64_t, kSize>& totals,
         const std::array<std::atomic<uint64_t>, kSize>& counters) {
  for (size_t i = 0; i < kSize; ++i) Add(totals[i], counters[i]);
}

void Add(ServiceTotals& totals, const ServiceCounters& stripe) {
  // `finished` before `started`: a request that ends between the two reads must not make more
  // finished than started.
  Add(totals.finished, stripe.finished);
  Add(totals.started, stripe.started);
  Add(totals.answered, stripe.answered);
  Add(totals.limit_hits, stripe.limit_hits);
  Add(totals.latency_sum_ns, stripe.latency_sum_ns);
  Add(totals.latency, stripe.latency);
  Add(totals.bytes_received, stripe.bytes_received);
  Add(totals.bytes_sent, stripe.bytes_sent);
  Add(totals.connections, stripe.connections);
}

// Raises `last` to `now`; false when a counter fell, which then keeps its last value.
bool Raise(uint64_t& last, uint64_t now) {
  if (now < last) return false;
  last = now;
  return true;
}

template <size_t kSize>
bool Raise(std::array<uint64_t, kSize>& last, const std::array<uint64_t, kSize>& now) {
  bool rose = true;
  for (size_t i = 0; i < kSize; ++i) rose &= Raise(last[i], now[i]);
  return rose;
}

bool Raise(ServiceTotals& last, const ServiceTotals& now) {
  bool rose = Raise(last.started, now.started);
  rose &= Raise(last.finished, now.finished);
  rose &= Raise(last.answered, now.answered);
  rose &= Raise(last.limit_hits, now.limit_hits);
  rose &= Raise(last.latency_sum_ns, now.latency_sum_ns);
  rose &= Raise(last.latency, now.latency);
  rose &= Raise(last.bytes_received, now.bytes_received);
  rose &= Raise(last.bytes_sent, now.bytes_sent);
  rose &= Raise(last.connections, now.connections);
  return rose;
}

// The age of a moment that the worker wrote; one in the future has none.
std::optional<absl::Duration> AgeOf(uint64_t nanoseconds, SteadyTime now) {
  if (nanoseconds == 0 || nanoseconds > static_cast<uint64_t>(now.nanoseconds)) return std::nullopt;
  return now - SteadyTime{static_cast<int64_t>(nanoseconds)};
}

RowState CheckedState(uint32_t state) {
  return state <= static_cast<uint32_t>(RowState::kStopped) ? static_cast<RowState>(state)
                                                            : RowState::kFree;
}

absl::StatusOr<void*> Map(int descriptor, int protection) {
  void* memory = mmap(nullptr, sizeof(Segment), protection, MAP_SHARED, descriptor, 0);
  if (memory == MAP_FAILED) return ErrnoStatus(errno, "mmap", "segment");
  return memory;
}

}  // namespace

SegmentReader::SegmentReader(UniqueFd segment, const Segment* mapped)
    : descriptor_(std::move(segment)), segment_(mapped) {}

SegmentReader::~SegmentReader() { munmap(const_cast<Segment*>(segment_), sizeof(Segment)); }

absl::StatusOr<std::pair<UniqueFd, std::unique_ptr<SegmentReader>>> SegmentReader::Create(
    uint32_t generation) {
  COHOST_ASSIGN_OR_RETURN(UniqueFd memory, MakeSealedMemory("cohost-segment", sizeof(Segment)));
  COHOST_ASSIGN_OR_RETURN(void* writable, Map(memory.get(), PROT_READ | PROT_WRITE));
  InitializeSegment(*static_cast<Segment*>(writable), generation);
  munmap(writable, sizeof(Segment));
  UniqueFd copy(fcntl(memory.get(), F_DUPFD_CLOEXEC, 0));
  if (!copy.valid()) return ErrnoStatus(errno, "fcntl(F_DUPFD_CLOEXEC)", "segment");
  COHOST_ASSIGN_OR_RETURN(std::unique_ptr<SegmentReader> reader, MapChecked(std::move(copy)));
  return std::make_pair(std::move(memory), std::move(reader));
}

absl::StatusOr<std::unique_ptr<SegmentReader>> SegmentReader::Open(UniqueFd segment) {
  COHOST_ASSIGN_OR_RETURN(std::unique_ptr<SegmentReader> reader, MapChecked(std::move(segment)));
  COHOST_RETURN_IF_ERROR(reader->FindRows());
  return reader;
}

absl::StatusOr<std::unique_ptr<SegmentReader>> SegmentReader::MapChecked(UniqueFd segment) {
  COHOST_ASSIGN_OR_RETURN(const size_t size, SealedMemorySize(segment.get()));
  if (size != sizeof(Segment)) {
    return absl::InvalidArgumentError(absl::StrCat("a segment of ", size, " bytes"));
  }
  COHOST_ASSIGN_OR_RETURN(void* memory, Map(segment.get(), PROT_READ));
  const Segment* mapped = static_cast<const Segment*>(memory);
  std::unique_ptr<SegmentReader> reader(new SegmentReader(std::move(segment), mapped));
  if (!IsReadableSegment(*mapped)) {
    return absl::InvalidArgumentError("the segment's header is not of this version");
  }
  return reader;
}

// Reads by pread: through the mapping, looking at an unused row would allocate its page.
absl::Status SegmentReader::FindRows() {
  constexpr size_t kChunkRows = 64;
  std::array<char, kChunkRows * sizeof(ServiceRow)> chunk;
  for (uint32_t first = 0; first < kServiceRows; first += kChunkRows) {
    const uint64_t offset = offsetof(Segment, rows) + first * sizeof(ServiceRow);
    const auto count = ReadAt(descriptor_.get(), offset, chunk.data(), chunk.size());
    if (!count.ok()) return Annotate(count.status(), "segment");
    if (*count < chunk.size()) return ErrnoStatus(EIO, "pread", "segment");
    for (uint32_t i = 0; i < kChunkRows; ++i) {
      uint64_t service_id = 0;
      std::memcpy(&service_id,
                  chunk.data() + i * sizeof(ServiceRow) + offsetof(ServiceRow, service_id),
                  sizeof(service_id));
      if (service_id != 0) rows_.try_emplace(first + i, Row{service_id, {}});
    }
  }
  return absl::OkStatus();
}

absl::Status SegmentReader::AddRow(uint64_t service_id, uint32_t row) {
  if (service_id == 0 || row >= kServiceRows) {
    return absl::InvalidArgumentError(absl::StrCat("row ", row, " is none of the segment's"));
  }
  const auto known = rows_.find(row);
  if (known != rows_.end()) {
    if (known->second.service_id == service_id) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("row ", row, " belongs to another service"));
  }
  const uint64_t written = Load(segment_->rows[row].service_id);
  if (written != service_id) {
    return absl::InvalidArgumentError(
        absl::StrCat("row ", row, " says service ", written, ", not ", service_id));
  }
  rows_.emplace(row, Row{service_id, {}});
  return absl::OkStatus();
}

const ServiceTotals& SegmentReader::Read(uint32_t number, Row& row) {
  ServiceTotals now;
  for (const ServiceCounters& stripe : segment_->rows[number].stripes) Add(now, stripe);
  if (!Raise(row.last, now)) Fault(absl::StrCat("a counter of row ", number, " fell"));
  return row.last;
}

void SegmentReader::Fault(std::string what) {
  if (fault_.empty()) fault_ = std::move(what);
}

ServiceTotals SegmentReader::Totals(uint64_t service_id) {
  ServiceTotals totals;
  for (auto& [number, row] : rows_) {
    if (row.service_id == service_id) totals.Add(Read(number, row));
  }
  return totals;
}

RowGauges SegmentReader::Gauges(uint64_t service_id, SteadyTime now) {
  RowGauges gauges;
  // The last row is the newest: rows are not used again within a generation.
  for (auto& [number, row] : rows_) {
    if (row.service_id != service_id) continue;
    const ServiceRow& source = segment_->rows[number];
    const ServiceTotals& totals = Read(number, row);
    gauges.state = CheckedState(Load(source.state));
    gauges.in_flight = static_cast<uint32_t>(
        std::min<uint64_t>(totals.started - std::min(totals.started, totals.finished), UINT32_MAX));
    gauges.queued = Load(source.queued);
    gauges.oldest_request_age = AgeOf(Load(source.oldest_request_ns), now);
    gauges.oldest_queued_age = AgeOf(Load(source.oldest_queued_ns), now);
    gauges.allocated_bytes = Load(source.allocated_bytes);
  }
  return gauges;
}

std::map<uint64_t, ServiceTotals> SegmentReader::AllTotals() {
  const absl::Status found = FindRows();
  if (!found.ok()) Fault(std::string(found.message()));
  return KnownTotals();
}

std::map<uint64_t, ServiceTotals> SegmentReader::KnownTotals() {
  std::map<uint64_t, ServiceTotals> totals;
  for (auto& [number, row] : rows_) totals[row.service_id].Add(Read(number, row));
  return totals;
}

std::vector<uint64_t> SegmentReader::LoadingServices() {
  const absl::Status found = FindRows();
  if (!found.ok()) Fault(std::string(found.message()));
  std::vector<uint64_t> services;
  for (const auto& [number, row] : rows_) {
    if (CheckedState(Load(segment_->rows[number].state)) == RowState::kLoading) {
      services.push_back(row.service_id);
    }
  }
  return services;
}

SteadyTime SegmentReader::loop_progress() const {
  return {static_cast<int64_t>(Load(segment_->header.loop_progress_ns))};
}
uint64_t SegmentReader::accept_progress() const { return Load(segment_->header.accept_progress); }
uint64_t SegmentReader::accept_errors() {
  accept_errors_ = std::max(accept_errors_, Load(segment_->header.accept_errors));
  return accept_errors_;
}
uint64_t SegmentReader::thread_slot_overflows() const {
  return Load(segment_->header.thread_slot_overflows);
}
uint64_t SegmentReader::log_bytes_dropped() const {
  return Load(segment_->header.log_bytes_dropped);
}

}  // namespace cohost::supervisor
