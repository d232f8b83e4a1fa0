// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "boost/asio/io_context.hpp"
#include "supervisor/pool/generation/worker_client.h"

namespace cohost::supervisor {

// Clients that speak cohost.worker.v1 over gRPC. gRPC's own threads make the calls' ends known and
// only post to the loop, which outlives the factory and every client.
class GrpcWorkerClientFactory final : public WorkerClientFactory {
 public:
  explicit GrpcWorkerClientFactory(boost::asio::io_context& loop) : loop_(loop) {}
  std::unique_ptr<WorkerClient> Connect(UniqueFd socket) override;

 private:
  boost::asio::io_context& loop_;
};

}  // namespace cohost::supervisor
