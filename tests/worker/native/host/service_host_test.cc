// SPDX-License-Identifier: Apache-2.0
#include "worker/native/host/service_host.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "tests/worker/native/native_harness.h"

namespace cohost::worker::native {
namespace {

std::string IoThreadId(NativeHarness& harness) {
  std::string id;
  harness.io().Run([&] { id = std::to_string(::syscall(SYS_gettid)); });
  return id;
}

TEST(ServiceHost, AnInlineServiceRunsOnTheIoThreadAndItsTasksDoNot) {
  NativeHarness harness;
  HostedService& service = harness.MustStart("probe_inline");
  const std::string io = IoThreadId(harness);
  EXPECT_EQ(harness.Get(service, "/tid").body, io);
  EXPECT_NE(harness.Get(service, "/post").body, io);
}

TEST(ServiceHost, OtherServicesStayOffTheIoThread) {
  NativeHarness harness;
  for (const char* module : {"probe", "probe_serial", "probe_blocking"}) {
    HostedService& service = harness.MustStart(module);
    EXPECT_NE(harness.Get(service, "/tid").body, IoThreadId(harness)) << module;
  }
}

// The most that were inside at a time, when many came at once.
int MostInside(const std::string& module) {
  NativeHarness harness;
  HostedService& service = harness.MustStart(module);
  std::vector<std::shared_ptr<FakeExchange>> exchanges;
  for (int i = 0; i < 16; ++i) {
    FakeRequest request;
    request.target = "/inside";
    exchanges.push_back(harness.Send(service, request));
  }
  int most = 0;
  for (const auto& exchange : exchanges) {
    EXPECT_TRUE(exchange->WaitForEnd());
    most = std::max(most, std::stoi(exchange->answer().body));
  }
  return most;
}

TEST(ServiceHost, ASerialServiceIsNeverInsideTwice) { EXPECT_EQ(MostInside("probe_serial"), 1); }

TEST(ServiceHost, APoolServiceIsInsideSeveralTimes) { EXPECT_GT(MostInside("probe"), 1); }

TEST(ServiceHost, ABodyIsReadWhileItComes) {
  NativeHarness harness;
  for (const char* module : {"probe", "probe_serial"}) {
    HostedService& service = harness.MustStart(module);
    FakeRequest request;
    request.target = "/read";
    request.body = std::nullopt;
    const auto exchange = harness.Send(service, request);
    for (int i = 0; i < 10; ++i) exchange->SendBody(std::string(1000, 'x'));
    exchange->EndBody();
    ASSERT_TRUE(exchange->WaitForEnd());
    EXPECT_EQ(exchange->answer().body, "10000") << module;
  }
}

TEST(ServiceHost, AReaderIsWokenWhenItsClientLeaves) {
  NativeHarness harness;
  HostedService& service = harness.MustStart("probe");
  FakeRequest request;
  request.target = "/read";
  request.body = std::nullopt;
  const auto exchange = harness.Send(service, request);
  exchange->SendBody("x");
  harness.Cancel(service, *exchange, CancelReason::kClientGone);
  // Stop waits until the handler has left the module.
  EXPECT_TRUE(harness.Stop(service));
  EXPECT_FALSE(exchange->answer().complete);
}

}  // namespace
}  // namespace cohost::worker::native
