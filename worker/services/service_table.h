// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/format/segment.h"
#include "worker/loop/handler_pool.h"
#include "worker/loop/loop_inbox.h"
#include "worker/services/service_entry.h"

namespace cohost::worker {

// The services of this worker, each with a row of the segment that no other service gets in this
// generation. I/O thread only. Destroyed after the HttpServer's connections and before the pool.
class ServiceTable {
 public:
  // References outlive the table.
  ServiceTable(Segment& segment, HandlerPool& pool, LoopInbox& inbox, const Clock& clock);

  // Called after every change of a service's state.
  void set_on_state_change(std::function<void(ServiceEntry&)> callback) {
    on_state_change_ = std::move(callback);
  }

  // The new entry is kLoading and has no HostedService yet. ALREADY_EXISTS when the id is there,
  // RESOURCE_EXHAUSTED when no row is left.
  absl::StatusOr<ServiceEntry*> Add(ServiceDescription description);
  // Null when it is not there.
  ServiceEntry* Find(uint64_t id);
  // Only when it has no connections and no calls that run. The row stays with its counters.
  absl::Status Remove(ServiceEntry& entry);

  void SetState(ServiceEntry& entry, RowState state);

  // In the order of their ids.
  void ForEach(const std::function<void(ServiceEntry&)>& visit);
  HandlerPool& pool() { return pool_; }
  size_t size() const { return entries_.size(); }

 private:
  // Set in the constructor, never changed.
  Segment& segment_;
  HandlerPool& pool_;
  LoopInbox& inbox_;
  const Clock& clock_;

  std::function<void(ServiceEntry&)> on_state_change_;
  std::map<uint64_t, std::unique_ptr<ServiceEntry>> entries_;
  uint32_t next_row_ = 0;
};

}  // namespace cohost::worker
