// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/clock.h"
#include "base/format/segment.h"
#include "worker/accept/accept_gate.h"
#include "worker/services/admission.h"
#include "worker/services/hosted_service.h"
#include "worker/services/service_limits.h"

namespace cohost::worker {

struct ServiceEndpoint {
  uint64_t listener_token = 0;
  std::string address;  // as in the deployment
};

// What a service is before it is loaded.
struct ServiceDescription {
  uint64_t id = 0;
  uint64_t revision = 0;
  std::string name;
  ServiceLimits limits;
  std::vector<ServiceEndpoint> endpoints;
  bool access_log = false;
};

// Gauges of one service at one moment.
struct ServiceGauges {
  uint32_t in_flight = 0;
  uint32_t queued = 0;
  uint32_t connections = 0;
  absl::Duration oldest_request_age;  // zero: none
  absl::Duration oldest_queued_age;   // zero: none
};

// One service of this worker: its description, its row of the segment, its runtime's object, and
// what is between connections and that object. I/O thread only, apart from gate(), state() and
// draining(). Made, changed and destroyed by the ServiceTable.
class ServiceEntry {
 public:
  ServiceEntry(ServiceDescription description, ServiceRow& row, uint32_t row_index,
               HandlerPool& pool, LoopInbox& inbox, const Clock& clock);
  ServiceEntry(const ServiceEntry&) = delete;
  ServiceEntry& operator=(const ServiceEntry&) = delete;

  // Before the first connection is served.
  void Host(std::unique_ptr<HostedService> hosted);

  uint64_t id() const { return description_.id; }
  const std::string& name() const { return description_.name; }
  uint64_t revision() const { return description_.revision; }
  const ServiceLimits& limits() const { return description_.limits; }
  const ServiceDescription& description() const { return description_; }
  uint32_t row_index() const { return row_index_; }
  ServiceRow& row() { return row_; }
  // The I/O thread's stripe; only that thread adds to it, with Add().
  ServiceCounters& counters() { return row_.stripes[0]; }
  // Null before Host.
  HostedService* hosted() { return hosted_.get(); }
  Admission& admission() { return admission_; }
  const std::shared_ptr<AcceptGate>& gate() const { return gate_; }
  RowState state() const { return state_.load(std::memory_order_relaxed); }
  bool draining() const { return state() == RowState::kDraining; }
  ServiceGauges gauges(SteadyTime now) const;

 private:
  friend class ServiceTable;

  // Set in the constructor, never changed.
  const ServiceDescription description_;
  ServiceRow& row_;
  const uint32_t row_index_;
  const std::shared_ptr<AcceptGate> gate_;

  std::unique_ptr<HostedService> hosted_;
  Admission admission_;
  std::atomic<RowState> state_{RowState::kLoading};
};

// Adds to a counter that only the calling thread writes: no locked instruction.
inline void Add(std::atomic<uint64_t>& counter, uint64_t n) {
  counter.store(counter.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
}

// The bucket of the latency histogram.
uint32_t LatencyBucket(absl::Duration latency);

}  // namespace cohost::worker
