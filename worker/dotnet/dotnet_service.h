// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "worker/dotnet/dotnet_runtime.h"
#include "worker/dotnet/dotnet_service_description.h"
#include "worker/services/connection_server.h"
#include "worker/services/hosted_service.h"
#include "worker/services/service_entry.h"

namespace cohost::worker::dotnet {

// An ASP.NET Core application in a load context of its own, as the worker's service table sees it
// (HostedService says which thread calls what). It brings its own server: connections go to it as
// descriptors, and limits, queue, counters and timeouts of its requests are the shim's. Once loaded
// its code stays until the process ends.
class DotnetService final : public HostedService, public ConnectionServer {
 public:
  // `runtime` and `entry` outlive it.
  DotnetService(DotnetRuntime& runtime, DotnetServiceDescription description, ServiceEntry& entry);
  ~DotnetService() override;

  // HostedService
  void Start(std::function<void(absl::Status)> done) override;
  SteadyTime last_progress() const override;
  Dispatch dispatch() const override { return Dispatch::kPool; }
  // Never called: it has a server of its own.
  void Handle(std::shared_ptr<Exchange> exchange) override { exchange->Abort(); }
  void Ended(Exchange& /*exchange*/, const CancelReason* /*cancelled*/) override {}
  ConnectionServer* connection_server() override { return this; }
  std::optional<RequestGauges> request_gauges() override;
  void Drain(std::function<void()> done) override;
  void Stop(std::function<void()> done) override;
  HealthAnswer Health() override;
  std::vector<ModuleMetricValue> Metrics() override;
  uint64_t metrics_dropped() const override { return 0; }
  uint64_t allocated_bytes() const override;
  uint32_t timers() const override { return 0; }

  // ConnectionServer
  void Serve(UniqueFd connected, ServiceEntry& entry, Arrival arrival, std::string peer,
             uint64_t listener) override;
  void DrainService(ServiceEntry& entry, absl::Duration limit, CancelReason reason,
                    HandOver hand_over, DrainDone done) override;

 private:
  class Events;

  void Load();
  // Zeros before the runtime has started.
  Gauges ReadGauges() const;
  int32_t row() const { return static_cast<int32_t>(entry_.row_index()); }

  // Set in the constructor, never changed.
  DotnetRuntime& runtime_;
  const DotnetServiceDescription description_;
  ServiceEntry& entry_;
  const std::shared_ptr<Events> events_;
};

}  // namespace cohost::worker::dotnet
