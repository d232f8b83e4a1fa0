// SPDX-License-Identifier: Apache-2.0
#include "worker/services/service_entry.h"

#include <utility>

namespace cohost::worker {
namespace {

absl::Duration Age(SteadyTime since, SteadyTime now) {
  if (since == SteadyTime() || now < since) return absl::ZeroDuration();
  return now - since;
}

absl::Duration Age(const std::atomic<uint64_t>& since, SteadyTime now) {
  return Age(SteadyTime{static_cast<int64_t>(since.load(std::memory_order_relaxed))}, now);
}

}  // namespace

ServiceEntry::ServiceEntry(ServiceDescription description, ServiceRow& row, uint32_t row_index,
                           HandlerPool& pool, LoopInbox& inbox, const Clock& clock)
    : description_(std::move(description)),
      row_(row),
      row_index_(row_index),
      gate_(std::make_shared<AcceptGate>(description_.limits.connections)),
      admission_(row, row_index, description_.limits.concurrency, description_.limits.queue, pool,
                 inbox, clock) {}

void ServiceEntry::Host(std::unique_ptr<HostedService> hosted) {
  hosted_ = std::move(hosted);
  admission_.Host(*hosted_);
}

ServiceGauges ServiceEntry::gauges(SteadyTime now) const {
  ServiceGauges gauges{.in_flight = admission_.active(),
                       .queued = admission_.queued(),
                       .connections = gate_->open(),
                       .oldest_request_age = Age(row_.oldest_request_ns, now),
                       .oldest_queued_age = Age(row_.oldest_queued_ns, now)};
  const std::optional<RequestGauges> own =
      hosted_ == nullptr ? std::nullopt : hosted_->request_gauges();
  if (!own.has_value()) return gauges;
  gauges.in_flight = own->in_flight;
  gauges.queued = own->queued;
  gauges.oldest_request_age = Age(own->oldest_request, now);
  gauges.oldest_queued_age = Age(own->oldest_queued, now);
  return gauges;
}

uint32_t LatencyBucket(absl::Duration latency) {
  static const std::array<int64_t, kLatencyBounds.size()> bounds = [] {
    std::array<int64_t, kLatencyBounds.size()> nanoseconds{};
    for (size_t i = 0; i < nanoseconds.size(); ++i) {
      nanoseconds[i] = static_cast<int64_t>(kLatencyBounds[i] * 1e9 + 0.5);
    }
    return nanoseconds;
  }();
  const int64_t nanoseconds = absl::ToInt64Nanoseconds(latency);
  uint32_t bucket = 0;
  while (bucket < bounds.size() && nanoseconds > bounds[bucket]) ++bucket;
  return bucket;
}

}  // namespace cohost::worker
