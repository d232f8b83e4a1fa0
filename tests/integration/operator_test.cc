// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <signal.h>

#include "absl/strings/str_cat.h"
#include "tests/support/http_client.h"
#include "tests/support/test_host.h"
#include "tests/support/wait.h"

namespace cohost::testing {
namespace {

constexpr char kServices[] = R"(
services:
  - {name: kept, runtime: native, module: "${echo}", listen: ["http://127.0.0.1:0"]}
  - {name: stopped, runtime: native, module: "${echo}", listen: ["http://127.0.0.1:0"]}
)";

grpc::Status Stop(const TestHost& host, const std::string& name, const std::string& request_id) {
  const auto stub = host.Connect();
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
  admin::v1::StopServiceRequest request;
  request.set_name(name);
  request.set_request_id(request_id);
  admin::v1::StopServiceResponse response;
  return stub->StopService(&context, request, &response);
}

grpc::Status StartService(const TestHost& host, const std::string& name) {
  const auto stub = host.Connect();
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
  admin::v1::StartServiceRequest request;
  request.set_name(name);
  admin::v1::StartServiceResponse response;
  return stub->StartService(&context, request, &response);
}

TEST(Operator, AStoppedServiceStopsAloneAndStaysStoppedWhenTheSupervisorDies) {
  const auto host = TestHost::StartOrDie({kServices, {}, {}});
  const auto before = host->WorkerPids();
  ASSERT_TRUE(Stop(*host, "stopped", "").ok());
  ASSERT_TRUE(
      Eventually([&] { return host->Service("stopped")->state() == v1::SERVICE_STATE_STOPPED; }));
  EXPECT_TRUE(host->Service("stopped")->stopped_by_operator());
  EXPECT_EQ(host->WorkerPids(), before) << "its neighbour was disturbed";
  EXPECT_TRUE(host->Status()->healthy());

  const pid_t supervisor = host->SupervisorPid();
  ASSERT_EQ(kill(supervisor, SIGKILL), 0);
  ASSERT_TRUE(Eventually([&] {
    const pid_t next = host->SupervisorPid();
    return next > 0 && next != supervisor;
  }));
  EXPECT_EQ(host->Service("stopped")->state(), v1::SERVICE_STATE_STOPPED);
  ASSERT_TRUE(host->Reload().ok());
  EXPECT_EQ(host->Service("stopped")->state(), v1::SERVICE_STATE_STOPPED);

  ASSERT_TRUE(StartService(*host, "stopped").ok());
  ASSERT_TRUE(host->WaitUntilReady());
  const auto service = host->Service("stopped");
  EXPECT_EQ(service->state(), v1::SERVICE_STATE_READY);
  EXPECT_EQ(host->WorkerPids(), before);
}

TEST(Operator, AnUnknownNameIsNotFoundAndTheNearestIsNamed) {
  const auto host = TestHost::StartOrDie({kServices, {}, {}});
  const grpc::Status status = Stop(*host, "stoped", "");
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_NE(status.error_message().find("stopped"), std::string::npos) << status.error_message();
}

}  // namespace
}  // namespace cohost::testing
