// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "absl/status/status.h"
#include "base/system/unique_fd.h"
#include "boost/asio/io_context.hpp"
#include "worker/control/control_service.h"
#include "worker/control/health_service.h"

namespace cohost::worker {

// The worker's gRPC server. It has no port: it serves the socketpairs that come down the link.
// Nothing of gRPC is initialised before the first of them, so that a worker is up without it. I/O
// thread only. Never shut down: a gRPC server's shutdown can wait for ever for a peer that does not
// read (RPC-01), so the process ends with the server running, by _exit.
class ControlServer {
 public:
  ControlServer(boost::asio::io_context& io, ControlHandler& handler);
  ~ControlServer();

  HealthService& health() { return health_; }

  // Serves `channel`, a non-blocking stream socket, until its other end is closed. There may be
  // several: each new supervisor brings one.
  absl::Status AddChannel(UniqueFd channel);

 private:
  HealthService health_;
  ControlService control_;
  std::unique_ptr<grpc::Server> server_;  // null before the first channel
};

}  // namespace cohost::worker
