// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "proto/health.grpc.pb.h"
#include "supervisor/admin/host_control.h"
#include "supervisor/admin/stream/stream_poller.h"

namespace cohost::supervisor {

// grpc.health.v1 of the host: the empty name is the host as a whole, any other a service of the
// deployment. gRPC's threads; `host` and `poller` outlive the server.
class HealthService final : public grpc::health::v1::Health::CallbackService {
 public:
  HealthService(HostControl& host, StreamPoller& poller) : host_(host), poller_(poller) {}

  grpc::ServerUnaryReactor* Check(grpc::CallbackServerContext* context,
                                  const grpc::health::v1::HealthCheckRequest* request,
                                  grpc::health::v1::HealthCheckResponse* response) override;
  grpc::ServerWriteReactor<grpc::health::v1::HealthCheckResponse>* Watch(
      grpc::CallbackServerContext* context,
      const grpc::health::v1::HealthCheckRequest* request) override;

 private:
  HostControl& host_;
  StreamPoller& poller_;
};

}  // namespace cohost::supervisor
