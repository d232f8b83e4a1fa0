// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>

#include "boost/asio/io_context.hpp"
#include "proto/health.grpc.pb.h"

namespace cohost::worker {

// grpc.health.v1 of one worker: a status by service name, "" for the worker. Answers are given on
// the I/O loop, so that a worker whose loop hangs does not say that it serves. The overrides are
// called by gRPC, the rest on the I/O thread. The loop outlives it.
class HealthService final : public grpc::health::v1::Health::CallbackService {
 public:
  using Status = grpc::health::v1::HealthCheckResponse::ServingStatus;

  explicit HealthService(boost::asio::io_context& io);

  // Tells the watchers of `service` when it is a change.
  void Set(const std::string& service, Status status);
  void Forget(const std::string& service);

  // The generated synchronous forms of the same calls, else hidden, which -Woverloaded-virtual
  // sees.
  using grpc::health::v1::Health::CallbackService::Check;
  using grpc::health::v1::Health::CallbackService::Watch;

  grpc::ServerUnaryReactor* Check(grpc::CallbackServerContext* context,
                                  const grpc::health::v1::HealthCheckRequest* request,
                                  grpc::health::v1::HealthCheckResponse* response) override;
  grpc::ServerWriteReactor<grpc::health::v1::HealthCheckResponse>* Watch(
      grpc::CallbackServerContext* context,
      const grpc::health::v1::HealthCheckRequest* request) override;

 private:
  class WatchCall;

  // SERVICE_UNKNOWN for a name that is not known.
  Status Find(const std::string& service) const;
  void Notify(const std::string& service);

  boost::asio::io_context& io_;
  // I/O thread only.
  std::map<std::string, Status> statuses_;
  std::set<WatchCall*> watchers_;
};

}  // namespace cohost::worker
