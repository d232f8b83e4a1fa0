// SPDX-License-Identifier: Apache-2.0
#include "supervisor/pool/generation/worker_messages.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <limits>

#include "base/system/unique_fd.h"

namespace cohost::supervisor {
namespace {

TEST(WorkerMessages, AnAssignmentCarriesTheWholeService) {
  const UniqueFd listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ServiceTarget service;
  service.id = 7;
  service.revision = 9;
  service.name = "catalog";
  service.module_path = "/store/x.so";
  service.data_images = {{"words", "/store/words"}};
  service.settings = {{"db:password", "secret"}, {"hosts:0", "a"}};
  service.limits.concurrency = 3;
  service.limits.request_timeout = absl::Milliseconds(1500);
  service.limits.memory = MiB(32);
  service.health.path = "/healthz";
  service.warmup = {"/", "/items/1"};
  service.listeners = {{"http://127.0.0.1:8101", listener.get()}};
  service.access_log = true;
  service.data_folder = "/data/catalog";
  const worker::v1::AssignRequest request = *ToAssignRequest(service, absl::Seconds(60));
  EXPECT_EQ(request.service_id(), 7);
  EXPECT_EQ(request.revision(), 9);
  EXPECT_EQ(request.name(), "catalog");
  EXPECT_EQ(request.runtime(), v1::RUNTIME_NATIVE);
  EXPECT_EQ(request.module_path(), "/store/x.so");
  EXPECT_EQ(request.data_images().at("words"), "/store/words");
  ASSERT_EQ(request.settings_size(), 2);
  EXPECT_EQ(request.settings(1).key(), "hosts:0");
  EXPECT_EQ(request.limits().concurrency(), 3);
  EXPECT_EQ(request.limits().request_timeout().seconds(), 1);
  EXPECT_EQ(request.limits().request_timeout().nanos(), 500'000'000);
  EXPECT_EQ(request.memory_bytes(), MiB(32).count);
  EXPECT_EQ(request.health_path(), "/healthz");
  EXPECT_EQ(request.warmup(1), "/items/1");
  ASSERT_EQ(request.endpoints_size(), 1);
  EXPECT_EQ(request.endpoints(0).listener_token(), *ListenerToken(listener.get()));
  EXPECT_EQ(request.endpoints(0).address(), "http://127.0.0.1:8101");
  EXPECT_EQ(request.start_timeout().seconds(), 60);
  EXPECT_TRUE(request.access_log());
  EXPECT_EQ(request.data_folder(), "/data/catalog");
}

TEST(WorkerMessages, AnApplicationIsToldWhatItNeeds) {
  const UniqueFd listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ServiceTarget service;
  service.runtime = Runtime::kDotnet;
  service.module_path = "/trees/orders/1/Orders.dll";
  service.environment = {{"A", "1"}, {"B", ""}};
  service.arguments = {"--verbose"};
  service.data_protection_name = "orders";
  service.shared_libraries = {"/trees/+1/2/A.dll"};
  service.listeners = {{"http://127.0.0.1:8101", listener.get(), "Grpc"}};
  service.limits.request_timeout = absl::ZeroDuration();
  const worker::v1::AssignRequest request = *ToAssignRequest(service, absl::Seconds(60));
  EXPECT_EQ(request.runtime(), v1::RUNTIME_DOTNET);
  ASSERT_EQ(request.environment_size(), 2);
  EXPECT_EQ(request.environment(0).key(), "A");
  EXPECT_EQ(request.environment(0).value(), "1");
  ASSERT_EQ(request.arguments_size(), 1);
  EXPECT_EQ(request.arguments(0), "--verbose");
  EXPECT_EQ(request.data_protection_name(), "orders");
  EXPECT_EQ(request.isolation(), v1::ISOLATION_SHARED);
  ASSERT_EQ(request.shared_libraries_size(), 1);
  EXPECT_EQ(request.shared_libraries(0), "/trees/+1/2/A.dll");
  EXPECT_EQ(request.endpoints(0).endpoint(), "Grpc");
  EXPECT_TRUE(request.limits().has_request_timeout());
  EXPECT_EQ(request.limits().request_timeout().seconds(), 0);
}

TEST(WorkerMessages, AServiceWithoutItsListenerCannotBeAssigned) {
  ServiceTarget service;
  service.listeners = {{"http://127.0.0.1:8101", -1}};
  EXPECT_FALSE(ToAssignRequest(service, absl::Seconds(1)).ok());
}

TEST(WorkerMessages, AnAnswerIsReadyOrFailedOrNone) {
  worker::v1::AssignResponse response;
  response.set_service_id(7);
  response.set_row(3);
  response.set_state(v1::SERVICE_STATE_READY);
  EXPECT_TRUE(FromAssignResponse(response)->ready);
  response.set_state(v1::SERVICE_STATE_FAILED);
  response.set_reason(std::string(100'000, 'x'));
  const AssignOutcome outcome = *FromAssignResponse(response);
  EXPECT_FALSE(outcome.ready);
  EXPECT_EQ(outcome.row, 3);
  EXPECT_LE(outcome.reason.size(), 500u);
  response.set_state(v1::SERVICE_STATE_LOADING);
  EXPECT_TRUE(absl::IsInvalidArgument(FromAssignResponse(response).status()));
}

TEST(WorkerMessages, StatisticsBeyondTheLimitsAreDroppedAndCounted) {
  worker::v1::StatisticsBatch batch;
  worker::v1::ServiceStatistics& service = *batch.add_services();
  service.set_service_id(5);
  service.set_metrics_dropped(1);
  for (const char* name : {"good", "Bad", "", "1bad", "ba\"d"}) {
    service.add_metrics()->set_name(name);
  }
  service.add_metrics()->set_name("infinite");
  service.mutable_metrics(5)->set_value(std::numeric_limits<double>::infinity());
  for (int i = 0; i < 20; ++i) service.add_metrics()->set_name("m" + std::to_string(i));
  const WorkerGauges gauges = FromStatistics(batch);
  ASSERT_EQ(gauges.services.size(), 1u);
  EXPECT_EQ(gauges.services[0].metrics.size(), kMaxModuleMetrics);
  EXPECT_EQ(gauges.services[0].metrics[0].name, "good");
  EXPECT_EQ(gauges.services[0].metrics_dropped, 1u + 5 + 5);
  EXPECT_FALSE(gauges.pool_queue_age.has_value());
}

}  // namespace
}  // namespace cohost::supervisor
