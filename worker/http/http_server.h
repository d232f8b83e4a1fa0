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
#include "worker/services/connection_server.h"
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

// HTTP/1.1 (RFC 9112) for the services of a table: keep-alive, pipelining (one request of a
// connection is in work at a time, so answers keep their order), bodies streamed both ways with
// back-pressure at 64 KiB. Strict: what could be read in two ways is refused. I/O thread only; the
// io_context is run by one thread. The destructor cuts every connection.
class HttpServer final : public ConnectionServer {
 public:
  struct Options {
    // Called for the services whose description asks for it.
    std::function<void(const AccessRecord&)> access_log;
    // A service that had no room for connections has some: for Acceptor::NoteRoom.
    std::function<void(uint64_t service_id)> room;
  };

  // References outlive the server.
  HttpServer(boost::asio::io_context& io, ServiceTable& table, DeadlineQueue& deadlines,
             LoopInbox& inbox, Options options);
  ~HttpServer() override;
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // ConnectionServer. Non-blocking mode is set here; it is the same for every listener.
  void Serve(UniqueFd connected, ServiceEntry& entry, Arrival arrival, std::string peer,
             uint64_t listener) override;
  void DrainService(ServiceEntry& entry, absl::Duration limit, CancelReason reason,
                    HandOver hand_over, DrainDone done) override;
  // DrainService for all services that are kReady or kLoading, each once.
  void DrainAll(absl::Duration limit, HandOver hand_over, DrainDone done);

  uint32_t connections() const;

 private:
  class State;
  const std::shared_ptr<State> state_;
};

}  // namespace cohost::worker
