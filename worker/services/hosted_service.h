// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "worker/services/connection_server.h"
#include "worker/services/exchange.h"

namespace cohost::worker {

// Where a service's request callback runs.
enum class Dispatch {
  kInline,  // on the I/O thread: it promised never to block
  kPool,    // on any thread of the handler pool, several at once
  kSerial,  // on the handler pool, one call at a time
};

struct HealthAnswer {
  bool healthy = true;
  std::string reason;  // one line when not
};

// A metric that a module keeps; see proto/worker.proto ModuleMetric.
struct ModuleMetricValue {
  std::string name;
  bool is_counter = false;
  double value = 0;
};

// Requests of a service at one moment.
struct RequestGauges {
  uint32_t in_flight = 0;
  uint32_t queued = 0;
  SteadyTime oldest_request;  // in the service's code; zero: none
  SteadyTime oldest_queued;   // zero: none
};

// One service as its runtime hosts it, from create to destroy: native::NativeService and
// dotnet::DotnetService. Created and destroyed on the I/O thread; each method says where it is
// called. Owned by the service table.
class HostedService {
 public:
  virtual ~HostedService() = default;

  // I/O thread. Loads and starts; `done` is called once, on the I/O thread, at once or later.
  // Progress that the service reports moves last_progress().
  virtual void Start(std::function<void(absl::Status)> done) = 0;
  virtual SteadyTime last_progress() const = 0;

  // Where Handle is to be called. Constant after Start has succeeded.
  virtual Dispatch dispatch() const = 0;

  // On the thread that dispatch() names. The service answers through the exchange, during the call
  // or later.
  virtual void Handle(std::shared_ptr<Exchange> exchange) = 0;

  // I/O thread. The exchange has ended without its answer (CancelReason) or with it (nullptr): the
  // runtime forgets its handle and, when cancelled, tells the service. Called once for every
  // exchange that Handle got. With kPool and kSerial a cancelled exchange's Ended may come while
  // Handle runs, and even before Handle's first instruction on its thread.
  virtual void Ended(Exchange& exchange, const CancelReason* cancelled) = 0;

  // The runtime's own server, when the service brings one: then Handle and Ended are never called,
  // and what the worker's HttpServer and Admission do for others is done there. Null: the
  // HttpServer. Constant.
  virtual ConnectionServer* connection_server() { return nullptr; }
  // Of a service with a server of its own; unset: the Admission knows.
  virtual std::optional<RequestGauges> request_gauges() { return std::nullopt; }

  // I/O thread. No new requests will come; `done` when the service has finished its own work, or
  // not at all: the caller has a limit.
  virtual void Drain(std::function<void()> done) = 0;
  // I/O thread, after Drain or its limit, and after every exchange has ended. Timers and tasks are
  // cancelled before the service is destroyed.
  virtual void Stop(std::function<void()> done) = 0;

  // Any thread; at most `timeout` apart from a broken module, which the caller's own limit covers.
  virtual HealthAnswer Health() = 0;
  virtual std::vector<ModuleMetricValue> Metrics() = 0;
  virtual uint64_t metrics_dropped() const = 0;
  virtual uint64_t allocated_bytes() const = 0;
  virtual uint32_t timers() const = 0;
};

}  // namespace cohost::worker
