// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "worker/native/host/service_host.h"
#include "worker/native/life_thread.h"
#include "worker/services/hosted_service.h"

namespace cohost::worker::native {

// A service whose code is a native module, as the worker's service table sees it (HostedService
// says which thread calls what). Loading and every life-cycle call run on a thread of the service's
// own, so a module that takes long, or never returns, holds up no neighbour. May be destroyed while
// such a call runs: it finishes by itself.
class NativeService final : public HostedService {
 public:
  // `parts` outlives it.
  NativeService(RuntimeParts& parts, std::shared_ptr<ServiceHost> host);

  void Start(std::function<void(absl::Status)> done) override;
  SteadyTime last_progress() const override { return host_->last_progress(); }
  // Once Start has succeeded.
  Dispatch dispatch() const override;
  void Handle(std::shared_ptr<Exchange> exchange) override;
  void Ended(Exchange& exchange, const CancelReason* cancelled) override;
  void Drain(std::function<void()> done) override;
  void Stop(std::function<void()> done) override;
  HealthAnswer Health() override;
  std::vector<ModuleMetricValue> Metrics() override { return host_->metrics().Values(); }
  uint64_t metrics_dropped() const override { return host_->metrics().dropped(); }
  uint64_t allocated_bytes() const override { return host_->memory().used(); }
  uint32_t timers() const override;

 private:
  // Set in the constructor, never changed.
  RuntimeParts& parts_;
  const std::shared_ptr<ServiceHost> host_;

  const LifeThread life_;

  // The health callback is never run beside itself.
  std::atomic<bool> in_health_{false};
};

}  // namespace cohost::worker::native
