// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "base/system/unique_fd.h"
#include "worker/loop/deadline_queue.h"
#include "worker/loop/loop_inbox.h"
#include "worker/services/service_entry.h"
#include "worker/services/service_table.h"

namespace boost::asio {
class io_context;
}

namespace cohost::worker {

// One request that has ended, for the access log. The views are valid during the call; method and
// target are empty when the head could not be read.
struct AccessRecord {
  std::string_view service;
  std::string_view peer;
  std::string_view method;
  std::string_view target;
  uint32_t status = 0;  // 0: ended without an answer
  uint64_t bytes_sent = 0;
  absl::Duration latency;
};

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

// HTTP/1.1 (RFC 9112) for the services of a table: keep-alive, pipelining (one request of a
// connection is in work at a time, so answers keep their order), bodies streamed both ways with
// back-pressure at 64 KiB. Strict: what could be read in two ways is refused. I/O thread only; the
// io_context is run by one thread. The destructor cuts every connection.
class HttpServer {
 public:
  struct Options {
    // Called for the services whose description asks for it.
    std::function<void(const AccessRecord&)> access_log;
    // A service that had no room for connections has some: for Acceptor::NoteRoom.
    std::function<void(uint64_t service_id)> room;
  };
  // Takes an idle connection of a draining service: nothing of a next request has been read.
  // Returning without having kept it closes it.
  using HandOver = std::function<void(UniqueFd idle, uint64_t service_id)>;
  using DrainDone = std::function<void(DrainResult)>;

  // References outlive the server.
  HttpServer(boost::asio::io_context& io, ServiceTable& table, DeadlineQueue& deadlines,
             LoopInbox& inbox, Options options);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Serves `connected`, a stream socket, for `entry` until it ends. `peer` as in
  // AcceptedConnection. Non-blocking mode is set here.
  void Serve(UniqueFd connected, ServiceEntry& entry, Arrival arrival, std::string peer);

  // Drains one service, which becomes kDraining: its answers carry `Connection: close`, its idle
  // connections are handed over (or, when `hand_over` is empty, closed gracefully), and new ones
  // that the caller still serves are treated the same. After `limit` what is left is cancelled with
  // `reason`. `done` is called once, when no connection, exchange and call is left, at most 1 s
  // after `limit`; then the caller drains and stops the HostedService. The caller stops accepting
  // first.
  void DrainService(ServiceEntry& entry, absl::Duration limit, CancelReason reason,
                    HandOver hand_over, DrainDone done);
  // The same for all services that are kReady or kLoading, each once.
  void DrainAll(absl::Duration limit, HandOver hand_over, DrainDone done);

  uint32_t connections() const;

 private:
  class State;
  const std::shared_ptr<State> state_;
};

}  // namespace cohost::worker
