// SPDX-License-Identifier: Apache-2.0
#include "worker/control/assign_request.h"

#include "gtest/gtest.h"

namespace cohost::worker {
namespace {

v1::AssignRequest Minimal() {
  v1::AssignRequest request;
  request.set_service_id(7);
  request.set_revision(2);
  request.set_name("catalog");
  return request;
}

cohost::v1::ServiceLimits* Limits(v1::AssignRequest& request) {
  cohost::v1::ServiceLimits* const limits = request.mutable_limits();
  limits->set_concurrency(3);
  limits->set_header_bytes(1024);
  limits->set_body_bytes(2048);
  limits->set_connections(9);
  return limits;
}

TEST(DescribeService, TakesDefaultsForWhatIsNotSet) {
  const auto description = DescribeService(Minimal());
  ASSERT_TRUE(description.ok()) << description.status();
  EXPECT_EQ(description->id, 7U);
  EXPECT_EQ(description->revision, 2U);
  EXPECT_EQ(description->name, "catalog");
  EXPECT_EQ(description->limits.concurrency, 64U);
  EXPECT_EQ(description->limits.queue, 256U);
  EXPECT_EQ(description->limits.request_timeout, absl::Seconds(30));
}

TEST(DescribeService, TakesLimitsAsTheyAre) {
  v1::AssignRequest request = Minimal();
  Limits(request)->mutable_request_timeout()->set_seconds(2);
  request.mutable_limits()->mutable_idle_timeout()->set_nanos(5000000);
  v1::Endpoint* const endpoint = request.add_endpoints();
  endpoint->set_listener_token(11);
  endpoint->set_address("http://127.0.0.1:80");
  const auto description = DescribeService(request);
  ASSERT_TRUE(description.ok()) << description.status();
  EXPECT_EQ(description->limits.concurrency, 3U);
  EXPECT_EQ(description->limits.queue, 0U);
  EXPECT_EQ(description->limits.header_bytes, Bytes{1024});
  EXPECT_EQ(description->limits.body_bytes, Bytes{2048});
  EXPECT_EQ(description->limits.connections, 9U);
  EXPECT_EQ(description->limits.request_timeout, absl::Seconds(2));
  EXPECT_EQ(description->limits.idle_timeout, absl::Milliseconds(5));
  EXPECT_EQ(description->limits.io_timeout, absl::Seconds(30));
  ASSERT_EQ(description->endpoints.size(), 1U);
  EXPECT_EQ(description->endpoints[0].listener_token, 11U);
}

TEST(DescribeService, NamesTheFieldThatIsOutOfRange) {
  const auto expect_refused = [](const char* field, void (*change)(v1::AssignRequest&)) {
    v1::AssignRequest request = Minimal();
    (void)Limits(request);
    change(request);
    const absl::Status status = DescribeService(request).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << field;
    EXPECT_NE(std::string(status.message()).find(field), std::string::npos) << status;
  };
  expect_refused("service_id", [](auto& request) { request.set_service_id(0); });
  expect_refused("name", [](auto& request) { request.clear_name(); });
  expect_refused("limits.concurrency",
                 [](auto& request) { request.mutable_limits()->set_concurrency(0); });
  expect_refused("limits.connections",
                 [](auto& request) { request.mutable_limits()->set_connections(0); });
  expect_refused("limits.header_bytes",
                 [](auto& request) { request.mutable_limits()->set_header_bytes(2 << 20); });
  expect_refused("limits.request_timeout", [](auto& request) {
    request.mutable_limits()->mutable_request_timeout()->set_seconds(-1);
  });
  expect_refused("limits.io_timeout", [](auto& request) {
    request.mutable_limits()->mutable_io_timeout()->set_seconds(INT64_MAX);
  });
  expect_refused("warmup", [](auto& request) { request.add_warmup("/a b"); });
  expect_refused("health_path", [](auto& request) { request.set_health_path("healthz"); });
}

TEST(StartTimeout, HasADefaultAndACap) {
  v1::AssignRequest request = Minimal();
  EXPECT_EQ(StartTimeout(request), absl::Seconds(60));
  request.mutable_start_timeout()->set_seconds(5);
  EXPECT_EQ(StartTimeout(request), absl::Seconds(5));
  request.mutable_start_timeout()->set_seconds(86400);
  EXPECT_EQ(StartTimeout(request), kLongestStart);
  request.mutable_start_timeout()->set_seconds(-5);
  EXPECT_EQ(StartTimeout(request), absl::Milliseconds(1));
}

}  // namespace
}  // namespace cohost::worker
