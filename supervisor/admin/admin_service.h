// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "base/clock.h"
#include "proto/admin.grpc.pb.h"
#include "supervisor/admin/diagnostics_calls.h"
#include "supervisor/admin/host_control.h"
#include "supervisor/admin/peer_registry.h"
#include "supervisor/admin/request_table.h"
#include "supervisor/admin/stream/stream_poller.h"

namespace cohost::supervisor {

// cohost.admin.v1.Admin: answers what a snapshot knows, asks HostControl for the rest. Calls come
// on gRPC's threads; everything given to the constructor outlives the server.
class AdminService final : public admin::v1::Admin::CallbackService {
 public:
  AdminService(HostControl& host, const PeerRegistry& peers, StreamPoller& poller,
               const Clock& clock, std::string version, std::string dumps_folder);

 private:
  using Context = grpc::CallbackServerContext;
  using Unary = grpc::ServerUnaryReactor;

  Unary* GetStatus(Context*, const admin::v1::GetStatusRequest*, admin::v1::Status*) override;
  Unary* ListServices(Context*, const admin::v1::ListServicesRequest*,
                      admin::v1::ListServicesResponse*) override;
  Unary* ListGroups(Context*, const admin::v1::ListGroupsRequest*,
                    admin::v1::ListGroupsResponse*) override;
  Unary* ListWorkers(Context*, const admin::v1::ListWorkersRequest*,
                     admin::v1::ListWorkersResponse*) override;
  Unary* ListModules(Context*, const admin::v1::ListModulesRequest*,
                     admin::v1::ListModulesResponse*) override;
  Unary* GetMemory(Context*, const admin::v1::GetMemoryRequest*, admin::v1::Memory*) override;
  Unary* MeasureUnshared(Context*, const admin::v1::MeasureUnsharedRequest*,
                         admin::v1::UnsharedMemory*) override;
  Unary* Plan(Context*, const admin::v1::PlanRequest*, admin::v1::PlanResponse*) override;
  Unary* Validate(Context*, const admin::v1::ValidateRequest*,
                  admin::v1::ValidateResponse*) override;
  Unary* Reload(Context*, const admin::v1::ReloadRequest*, admin::v1::ReloadResponse*) override;
  Unary* Deploy(Context*, const admin::v1::DeployRequest*, admin::v1::DeployResponse*) override;
  Unary* Rollback(Context*, const admin::v1::RollbackRequest*, admin::v1::DeployResponse*) override;
  Unary* ListHistory(Context*, const admin::v1::ListHistoryRequest*,
                     admin::v1::ListHistoryResponse*) override;
  grpc::ServerWriteReactor<admin::v1::DeploymentPart>* ExportDeployment(
      Context*, const admin::v1::ExportDeploymentRequest*) override;
  Unary* MaintainModules(Context*, const admin::v1::MaintainModulesRequest*,
                         admin::v1::MaintainModulesResponse*) override;
  Unary* Recycle(Context*, const admin::v1::RecycleRequest*, admin::v1::RecycleResponse*) override;
  Unary* StopService(Context*, const admin::v1::StopServiceRequest*,
                     admin::v1::StopServiceResponse*) override;
  Unary* StartService(Context*, const admin::v1::StartServiceRequest*,
                      admin::v1::StartServiceResponse*) override;
  grpc::ServerWriteReactor<admin::v1::Event>* WatchEvents(
      Context*, const admin::v1::WatchEventsRequest*) override;
  grpc::ServerWriteReactor<admin::v1::LogLine>* WatchLogs(
      Context*, const admin::v1::WatchLogsRequest*) override;
  DiagnosticsCalls::Call* DumpWorker(Context*, const admin::v1::DumpWorkerRequest*) override;
  DiagnosticsCalls::Call* TraceWorker(Context*, const admin::v1::TraceWorkerRequest*) override;

  // Once a mutation's outcome is known: `response` is null when the status is not OK.
  using Done = std::function<void(const absl::Status&, const google::protobuf::Message* response)>;
  // Runs `work` as its caller's first call with this request_id, or answers what that one got.
  // `problem` is what the request itself gets wrong.
  template <typename Request, typename Response>
  Unary* Mutate(Context* context, const Request& request, Response* response, absl::Status problem,
                std::function<void(Caller, Done)> work);

  // Set in the constructor, never changed.
  HostControl& host_;
  const PeerRegistry& peers_;
  StreamPoller& poller_;
  const std::string version_;
  DiagnosticsCalls diagnostics_;
  // Shared with outcomes that are still to come, perhaps after the server's end.
  const std::shared_ptr<RequestTable> requests_;
};

}  // namespace cohost::supervisor
