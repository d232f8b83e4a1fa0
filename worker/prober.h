// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "worker/services/service_entry.h"
#include "worker/worker_parts.h"

namespace cohost::worker {

struct ProbeResult {
  absl::Status status;  // OK: healthy
  absl::Duration latency;
};

// Asks a service whether it is well: its module's health callback on the handler pool, then a GET
// on the path that clients take. Each probe ends at its limit, also when the module hangs; a
// callback that has not returned makes the next probe unhealthy at once instead of taking a further
// thread. I/O thread only.
class Prober {
 public:
  explicit Prober(WorkerParts& parts);
  ~Prober();

  // An empty `path`: the callback only. `done` is called once, at once or later.
  void Probe(ServiceEntry& entry, const std::string& path, absl::Duration limit,
             std::function<void(ProbeResult)> done);
  // Whether the service's code may still be in a health callback: then it must not be destroyed.
  bool InCallback(uint64_t service_id) const { return in_callback_->contains(service_id); }

 private:
  class Run;

  WorkerParts& parts_;
  // Services whose callback has not returned. Shared with the callbacks' completions.
  const std::shared_ptr<std::set<uint64_t>> in_callback_;
};

// A GET of `target` to `entry` over a socketpair, for warm-up and probes. `done` as LocalRequest
// calls it; a socketpair that cannot be made is told there, too.
void RequestInside(WorkerParts& parts, ServiceEntry& entry, const std::string& target,
                   absl::Duration limit, std::function<void(absl::StatusOr<int>)> done);

}  // namespace cohost::worker
