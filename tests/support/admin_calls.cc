// SPDX-License-Identifier: Apache-2.0
#include "tests/support/admin_calls.h"

#include <chrono>
#include <memory>

namespace cohost::testing {

namespace {

using Stub = admin::v1::Admin::Stub;

// A deploy waits for workers to be replaced.
constexpr std::chrono::seconds kLimit(120);

template <typename Request, typename Response>
absl::StatusOr<Response> Call(const TestHost& host,
                              grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                           Response*),
                              const Request& request) {
  const std::unique_ptr<Stub> stub = host.Connect();
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kLimit);
  Response response;
  const grpc::Status status = (stub.get()->*method)(&context, request, &response);
  if (status.ok()) return response;
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

}  // namespace

absl::StatusOr<admin::v1::DeployResponse> Deploy(const TestHost& host, const std::string& service,
                                                 const std::string& path, bool wait) {
  admin::v1::DeployRequest request;
  request.set_service(service);
  request.set_path(path);
  request.set_wait(wait);
  return Call(host, &Stub::Deploy, request);
}

absl::StatusOr<admin::v1::DeployResponse> Rollback(const TestHost& host, const std::string& service,
                                                   uint64_t revision, bool wait) {
  admin::v1::RollbackRequest request;
  request.set_service(service);
  request.set_revision(revision);
  request.set_wait(wait);
  return Call(host, &Stub::Rollback, request);
}

absl::StatusOr<admin::v1::ListHistoryResponse> History(const TestHost& host,
                                                       const std::string& service) {
  admin::v1::ListHistoryRequest request;
  request.set_service(service);
  return Call(host, &Stub::ListHistory, request);
}

absl::StatusOr<admin::v1::MaintainModulesResponse> MaintainModules(const TestHost& host, bool check,
                                                                   bool collect) {
  admin::v1::MaintainModulesRequest request;
  request.set_check(check);
  request.set_collect(collect);
  return Call(host, &Stub::MaintainModules, request);
}

}  // namespace cohost::testing
