// SPDX-License-Identifier: Apache-2.0
#include "worker/services/service_table.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace cohost::worker {

ServiceTable::ServiceTable(Segment& segment, HandlerPool& pool, LoopInbox& inbox,
                           const Clock& clock)
    : segment_(segment), pool_(pool), inbox_(inbox), clock_(clock) {}

absl::StatusOr<ServiceEntry*> ServiceTable::Add(ServiceDescription description) {
  const uint64_t id = description.id;
  if (id == 0) return absl::InvalidArgumentError("service id 0 is not a service");
  if (entries_.contains(id)) {
    return absl::AlreadyExistsError(absl::StrCat("service ", id, " is in this worker"));
  }
  if (next_row_ == kServiceRows) {
    return absl::ResourceExhaustedError("all service rows of this worker have been used");
  }
  const uint32_t index = next_row_++;
  ServiceRow& row = segment_.rows[index];
  row.service_id.store(id, std::memory_order_relaxed);
  auto entry =
      std::make_unique<ServiceEntry>(std::move(description), row, index, pool_, inbox_, clock_);
  ServiceEntry& added = *entry;
  entries_.emplace(id, std::move(entry));
  SetState(added, RowState::kLoading);
  return &added;
}

ServiceEntry* ServiceTable::Find(uint64_t id) {
  const auto found = entries_.find(id);
  return found == entries_.end() ? nullptr : found->second.get();
}

absl::Status ServiceTable::Remove(ServiceEntry& entry) {
  const Admission& admission = entry.admission();
  if (entry.gate()->open() > 0 || !admission.empty()) {
    return absl::FailedPreconditionError(absl::StrCat("service '", entry.name(), "' still has ",
                                                      entry.gate()->open(), " connections and ",
                                                      admission.calls(), " calls that run"));
  }
  SetState(entry, RowState::kStopped);
  entries_.erase(entry.id());
  return absl::OkStatus();
}

void ServiceTable::SetState(ServiceEntry& entry, RowState state) {
  entry.state_.store(state, std::memory_order_relaxed);
  // Release: who reads kLoading or later finds the row's service id.
  entry.row_.state.store(static_cast<uint32_t>(state), std::memory_order_release);
  if (on_state_change_) on_state_change_(entry);
}

void ServiceTable::ForEach(const std::function<void(ServiceEntry&)>& visit) {
  for (const auto& [id, entry] : entries_) visit(*entry);
}

}  // namespace cohost::worker
