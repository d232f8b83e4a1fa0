// SPDX-License-Identifier: Apache-2.0
//
// What a service gets besides requests, called by a module through cohost.hpp (modules/probe.cc).
#include "worker/native/host/host_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <fstream>
#include <string>

#include "base/format/data_image_builder.h"
#include "tests/worker/native/native_harness.h"

namespace cohost::worker::native {
namespace {

using ::testing::HasSubstr;

TEST(HostTable, IsComplete) {
  const cohost_host& host = HostTable();
  EXPECT_EQ(host.major, COHOST_ABI_MAJOR);
  EXPECT_EQ(host.size, sizeof(host));
  // Everything behind the two numbers is a function.
  const auto* bytes = reinterpret_cast<const char*>(&host);
  for (size_t at = offsetof(cohost_host, get_extension); at < sizeof(host); at += sizeof(void*)) {
    void* function = nullptr;
    std::memcpy(&function, bytes + at, sizeof(function));
    EXPECT_NE(function, nullptr) << at;
  }
  EXPECT_EQ(host.get_extension("unheard-of/1"), nullptr);
}

TEST(HostTable, AMissingServiceIsInvalid) {
  const cohost_host& host = HostTable();
  cohost_service_info info = {};
  info.size = sizeof(info);
  cohost_string value = {};
  cohost_metric metric = 0;
  EXPECT_EQ(host.service_info(nullptr, &info), COHOST_INVALID);
  EXPECT_EQ(host.setting(nullptr, cohost_text("a"), &value), COHOST_INVALID);
  EXPECT_EQ(host.post(nullptr, nullptr, nullptr), COHOST_INVALID);
  EXPECT_EQ(host.metric(nullptr, cohost_text("a"), COHOST_COUNTER, &metric), COHOST_INVALID);
  EXPECT_EQ(host.alloc(nullptr, 1, 0), nullptr);
  EXPECT_EQ(host.call(nullptr, nullptr, nullptr, nullptr, nullptr), COHOST_INVALID);
  host.log(nullptr, COHOST_LOG_INFO, cohost_text("nobody"));
  host.start_done(nullptr, COHOST_OK, cohost_text(""));
  host.free(nullptr, nullptr);
}

class HostTableService : public ::testing::Test {
 protected:
  HostedService& Start(const NativeServiceDescription& description) {
    const auto service = harness_.Start(description);
    EXPECT_TRUE(service.ok()) << service.status().message();
    return **service;
  }
  NativeHarness harness_;
};

TEST_F(HostTableService, SettingsComeAsWritten) {
  NativeServiceDescription description = NativeHarness::Describe("probe");
  description.settings = {{"list:1", "b"}, {"number", "42"}, {"list:0", "a"}, {"list:2", ""}};
  EXPECT_EQ(harness_.Get(Start(description), "/settings").body, "test 7 42 a b ");
}

TEST_F(HostTableService, ADataImageIsReadWhereItIsMapped) {
  DataImageBuilder builder("test");
  builder.Add("key", "value");
  const auto built = builder.Build();
  ASSERT_TRUE(built.ok());
  NativeServiceDescription description = NativeHarness::Describe("probe");
  description.data_images = {{"data", ::testing::TempDir() + "/data.image"}};
  std::ofstream(description.data_images["data"], std::ios::binary) << *built;
  HostedService& service = Start(description);
  EXPECT_EQ(harness_.Get(service, "/image?key=key").body, "value");
  EXPECT_EQ(harness_.Get(service, "/image?key=other").body, "absent");
}

TEST_F(HostTableService, AMissingDataImageIsAnError) {
  EXPECT_EQ(harness_.Get(Start(NativeHarness::Describe("probe")), "/image?key=a").status, 500u);
  NativeServiceDescription description = NativeHarness::Describe("probe");
  description.data_images = {{"data", "/nowhere/data.image"}};
  EXPECT_EQ(harness_.Get(Start(description), "/image?key=a").status, 500u);
  EXPECT_THAT(harness_.LogText(), HasSubstr("/nowhere/data.image"));
}

TEST_F(HostTableService, MemoryIsCountedAndLimited) {
  NativeServiceDescription description = NativeHarness::Describe("probe");
  description.memory_limit = MiB(1);
  HostedService& service = Start(description);
  EXPECT_EQ(harness_.Get(service, "/alloc?bytes=500000").body, "ok");
  EXPECT_GE(service.allocated_bytes(), 500000u);
  EXPECT_EQ(harness_.Get(service, "/alloc?bytes=2000000").body, "no memory");
  EXPECT_LE(service.allocated_bytes(), MiB(1).count);
  EXPECT_EQ(harness_.Get(service, "/alloc?bytes=0").body, "ok");
  EXPECT_EQ(service.allocated_bytes(), 0u);
}

TEST_F(HostTableService, MetricsAreCappedAndTheRestIsCounted) {
  HostedService& service = Start(NativeHarness::Describe("probe"));
  EXPECT_EQ(harness_.Get(service, "/metrics").body, "ok");
  const std::vector<ModuleMetricValue> metrics = service.Metrics();
  ASSERT_EQ(metrics.size(), 16u);
  EXPECT_EQ(metrics[0].name, "hits");
  EXPECT_EQ(metrics[0].value, 2);
  EXPECT_EQ(metrics[1].value, -1.5);
  EXPECT_EQ(service.metrics_dropped(), 6u);
}

TEST_F(HostTableService, TimersAreNeverEarlyAndCanBeCancelled) {
  HostedService& service = Start(NativeHarness::Describe("probe"));
  EXPECT_EQ(harness_.Get(service, "/after").body, "due");
  EXPECT_EQ(harness_.Get(service, "/cancel").body,
            std::to_string(COHOST_OK) + " " + std::to_string(COHOST_GONE));
  EXPECT_EQ(harness_.Get(service, "/every").body, "armed");
  while (std::stoi(harness_.Get(service, "/ticks").body) < 3) {
  }
  EXPECT_EQ(service.timers(), 1u);
}

TEST_F(HostTableService, ACallCarriesTheBodyAndTheTraceContext) {
  HostedService& service = Start(NativeHarness::Describe("probe"));
  constexpr char kTraceparent[] = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  FakeRequest request;
  request.target = "/call?service=other";
  request.headers = {{"Traceparent", kTraceparent}, {"tracestate", "a=b"}};
  const auto exchange = harness_.Send(service, request);
  ASSERT_TRUE(exchange->WaitForEnd());
  EXPECT_EQ(exchange->answer().body,
            "0 200 other GET /there body " + std::string(kTraceparent) + " a=b");
}

TEST_F(HostTableService, ACallBeyondTheWorkerIsNotSupported) {
  HostedService& service = Start(NativeHarness::Describe("probe"));
  EXPECT_EQ(harness_.Get(service, "/call?service=missing").body,
            "refused " + std::to_string(COHOST_NOT_SUPPORTED));
}

TEST_F(HostTableService, ACallOnItsWayIsCancelledWithItsService) {
  HostedService& service = Start(NativeHarness::Describe("probe"));
  EXPECT_EQ(harness_.Get(service, "/call?service=silent").body, "waiting");
  EXPECT_TRUE(harness_.Stop(service));
}

}  // namespace
}  // namespace cohost::worker::native
