// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "absl/status/statusor.h"
#include "boost/asio/io_context.hpp"
#include "proto/worker.grpc.pb.h"

namespace cohost::worker {

// What WorkerControl asks of the worker. I/O thread; each `done` is called there once, at once or
// later. Requests are valid until then.
class ControlHandler {
 public:
  virtual ~ControlHandler() = default;

  // An answer (READY or FAILED) for a service that could be tried; an error status for a request
  // that is wrong in itself.
  virtual void Assign(const v1::AssignRequest& request,
                      std::function<void(absl::StatusOr<v1::AssignResponse>)> done) = 0;
  virtual void Remove(const v1::RemoveRequest& request,
                      std::function<void(absl::StatusOr<v1::RemoveResponse>)> done) = 0;
  virtual void Probe(const v1::ProbeRequest& request,
                     std::function<void(v1::ProbeResponse)> done) = 0;
  virtual v1::StatisticsBatch Statistics() = 0;
};

// The gRPC face of the worker: carries each call from gRPC's threads to the I/O loop and the answer
// back. Called by gRPC. The loop and the handler outlive it; calls that are open when the process
// exits are simply cut.
class ControlService final : public v1::WorkerControl::CallbackService {
 public:
  ControlService(boost::asio::io_context& io, ControlHandler& handler);

  // The generated synchronous forms of the same calls, else hidden, which -Woverloaded-virtual
  // sees.
  using v1::WorkerControl::CallbackService::Assign;
  using v1::WorkerControl::CallbackService::Probe;
  using v1::WorkerControl::CallbackService::Remove;
  using v1::WorkerControl::CallbackService::Statistics;

  grpc::ServerBidiReactor<v1::AssignRequest, v1::AssignResponse>* Assign(
      grpc::CallbackServerContext* context) override;
  grpc::ServerUnaryReactor* Remove(grpc::CallbackServerContext* context,
                                   const v1::RemoveRequest* request,
                                   v1::RemoveResponse* response) override;
  grpc::ServerUnaryReactor* Probe(grpc::CallbackServerContext* context,
                                  const v1::ProbeRequest* request,
                                  v1::ProbeResponse* response) override;
  grpc::ServerWriteReactor<v1::StatisticsBatch>* Statistics(
      grpc::CallbackServerContext* context, const v1::StatisticsRequest* request) override;

 private:
  boost::asio::io_context& io_;
  ControlHandler& handler_;
};

// The same status in gRPC's type; the codes are the same numbers.
grpc::Status ToGrpc(const absl::Status& status);

}  // namespace cohost::worker
