// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <signal.h>

#include <map>

#include "absl/strings/str_cat.h"
#include "tests/support/http_load.h"
#include "tests/support/test_host.h"
#include "tests/support/wait.h"

namespace cohost::testing {
namespace {

constexpr int kDeaths = 10;
constexpr uint64_t kRequests = 100'000;

constexpr char kServices[] = R"(
grouping: {max_services_per_worker: 2}
services:
  - {name: a, runtime: native, module: "${echo}", listen: ["http://127.0.0.1:0"]}
  - {name: b, runtime: native, module: "${echo}", listen: ["http://127.0.0.1:0"]}
  - {name: c, runtime: native, module: "${echo}", listen: ["http://127.0.0.1:0"]}
  - {name: d, runtime: native, module: "${echo}", listen: ["http://127.0.0.1:0"], load: {class: latency}}
)";

std::map<std::string, uint64_t> Requests(const TestHost& host) {
  std::map<std::string, uint64_t> requests;
  for (const auto& service : host.Services()) requests[service.name()] = service.requests();
  return requests;
}

TEST(SupervisorDeath, TenKillsUnderLoadLoseNothing) {
  const auto host = TestHost::StartOrDie({kServices, {}, {}});
  const auto workers = host->WorkerPids();
  ASSERT_EQ(workers.size(), 3u);
  HttpLoad load({{host->Port("a"), host->Port("b"), host->Port("c"), host->Port("d")},
                 "/",
                 /*connections=*/32,
                 /*rate=*/6000,
                 /*keep_alive=*/true});
  HttpLoad short_lived({{host->Port("a"), host->Port("d")},
                        "/",
                        /*connections=*/8,
                        /*rate=*/500,
                        /*keep_alive=*/false});
  std::map<std::string, uint64_t> before = Requests(*host);
  for (int death = 1; death <= kDeaths; ++death) {
    const uint64_t due = kRequests * static_cast<uint64_t>(death) / (kDeaths + 1);
    ASSERT_TRUE(Eventually([&] { return load.answered() >= due; }, absl::Seconds(60)));
    const pid_t supervisor = host->SupervisorPid();
    ASSERT_GT(supervisor, 0);
    ASSERT_EQ(kill(supervisor, SIGKILL), 0);
    ASSERT_TRUE(Eventually([&] {
      const pid_t next = host->SupervisorPid();
      return next > 0 && next != supervisor;
    })) << host->Log();
    // The new one knows every number that the old one knew.
    const std::map<std::string, uint64_t> after = Requests(*host);
    for (const auto& [name, count] : before) {
      ASSERT_TRUE(after.contains(name)) << name << " after death " << death;
      EXPECT_GE(after.at(name), count) << name << " after death " << death;
    }
    before = after;
  }
  ASSERT_TRUE(Eventually([&] { return load.answered() >= kRequests; }, absl::Seconds(60)));
  const LoadReport report = load.Stop();
  const LoadReport short_report = short_lived.Stop();
  EXPECT_EQ(report.failures(), 0u) << report.first_failure;
  EXPECT_EQ(report.closed_idle, 0u);
  EXPECT_EQ(short_report.failures(), 0u) << short_report.first_failure;
  EXPECT_EQ(host->WorkerPids(), workers);
  // Every request was counted once, whoever was alive to see it.
  uint64_t sum = 0;
  EXPECT_TRUE(Eventually([&] {
    sum = 0;
    for (const auto& [name, count] : Requests(*host)) sum += count;
    return sum == report.answered + short_report.answered;
  })) << sum
      << " counted, " << report.answered + short_report.answered << " answered";
  const auto status = host->Status();
  ASSERT_TRUE(status.ok());
  EXPECT_EQ(status->supervisor_restarts(), static_cast<uint32_t>(kDeaths));
}

}  // namespace
}  // namespace cohost::testing
