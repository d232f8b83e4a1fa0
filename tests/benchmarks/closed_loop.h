// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/system/unique_fd.h"

namespace cohost::benchmarks {

// HTTP clients on one thread, the caller's: a number of keep-alive connections over loopback, each
// of which sends its next request when it has the answer to the last. Anything but 200 with a
// Content-Length or in chunks fails the benchmark. The destructor closes the connections.
class ClosedLoop {
 public:
  ClosedLoop(uint16_t port, int connections);
  ~ClosedLoop();
  ClosedLoop(const ClosedLoop&) = delete;
  ClosedLoop& operator=(const ClosedLoop&) = delete;

  // Sends that many requests for "/" in all and waits for every answer. Microseconds from sending
  // each request to having its whole answer.
  std::vector<double> Run(uint64_t requests);

 private:
  struct Connection {
    UniqueFd socket;
    int64_t sent_ns = 0;
    std::string received;
  };

  void Send(Connection& connection);
  // Whether the whole answer is there.
  bool Receive(Connection& connection);

  UniqueFd epoll_;
  std::vector<Connection> connections_;
};

}  // namespace cohost::benchmarks
