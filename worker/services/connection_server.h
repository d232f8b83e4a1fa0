// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/time/time.h"
#include "base/system/unique_fd.h"
#include "worker/services/exchange.h"

namespace cohost::worker {

class ServiceEntry;

// Where a connection comes from.
enum class Arrival {
  kAccepted,  // by the Acceptor, which has counted it in the service's gate
  kAdopted,   // idle, from a predecessor
  kInternal,  // a warm-up request or a probe, over a socketpair; not counted as a connection
};

// How a drain ended.
struct DrainResult {
  // Exchanges that were cancelled because the time was over.
  uint32_t cancelled = 0;
  // Calls of service code that still had not returned.
  uint32_t running = 0;
};

// Serves the connections of services: the worker's HttpServer for those whose code answers
// exchanges, the runtime itself for those that bring a server of their own
// (HostedService::connection_server). I/O thread only.
class ConnectionServer {
 public:
  // Takes an idle connection of a draining service: nothing of a next request has been read.
  // Returning without having kept it closes it.
  using HandOver = std::function<void(UniqueFd idle, uint64_t service_id)>;
  using DrainDone = std::function<void(DrainResult)>;

  virtual ~ConnectionServer() = default;

  // Serves `connected`, a stream socket, for `entry` until it ends. `peer` as in
  // AcceptedConnection; `listener` is the token of the listener that it came by, 0: of none.
  virtual void Serve(UniqueFd connected, ServiceEntry& entry, Arrival arrival, std::string peer,
                     uint64_t listener) = 0;

  // Drains one service, which becomes kDraining: its answers say that the connection closes, its
  // idle connections are handed over (or, when `hand_over` is empty or the server cannot, closed
  // gracefully), and new ones that the caller still serves are treated the same. After `limit` what
  // is left is cancelled with `reason`. `done` is called once, when no connection, exchange and
  // call is left, at most 1 s after `limit`; then the caller drains and stops the HostedService.
  // The caller stops accepting first.
  virtual void DrainService(ServiceEntry& entry, absl::Duration limit, CancelReason reason,
                            HandOver hand_over, DrainDone done) = 0;
};

}  // namespace cohost::worker
