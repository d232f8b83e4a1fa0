// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "worker/services/hosted_service.h"

namespace cohost::worker {

// A service whose handler is a function of the test's. Starts, drains and stops at once; remembers
// how exchanges ended.
class FakeHostedService final : public HostedService {
 public:
  using Handler = std::function<void(std::shared_ptr<Exchange>)>;

  FakeHostedService(Dispatch dispatch, Handler handler)
      : dispatch_(dispatch), handler_(std::move(handler)) {}

  void Start(std::function<void(absl::Status)> done) override { done(absl::OkStatus()); }
  SteadyTime last_progress() const override { return {}; }
  Dispatch dispatch() const override { return dispatch_; }
  void Handle(std::shared_ptr<Exchange> exchange) override { handler_(std::move(exchange)); }
  void Ended(Exchange&, const CancelReason* cancelled) override {
    ended.push_back(cancelled == nullptr ? std::nullopt : std::optional(*cancelled));
  }
  void Drain(std::function<void()> done) override { done(); }
  void Stop(std::function<void()> done) override { done(); }
  HealthAnswer Health() override { return {}; }
  std::vector<ModuleMetricValue> Metrics() override { return {}; }
  uint64_t metrics_dropped() const override { return 0; }
  uint64_t allocated_bytes() const override { return 0; }
  uint32_t timers() const override { return 0; }

  // Unset: answered. I/O thread only.
  std::vector<std::optional<CancelReason>> ended;

 private:
  const Dispatch dispatch_;
  const Handler handler_;
};

}  // namespace cohost::worker
