// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <thread>

#include "absl/strings/str_cat.h"
#include "tests/support/http_client.h"
#include "tests/support/http_load.h"
#include "tests/support/test_host.h"
#include "tests/support/wait.h"

namespace cohost::testing {
namespace {

constexpr char kServices[] = R"(
grouping: {strategy: load_profile}
groups:
  - {name: pair, match: {class: [latency]}, workers: 2}
services:
  - {name: echo, runtime: native, module: "${echo}", listen: ["http://127.0.0.1:0"], load: {class: steady}}
  - {name: slow, runtime: native, module: "${slow}", listen: ["http://127.0.0.1:0"], load: {class: steady}}
  - {name: both, runtime: native, module: "${echo}", listen: ["http://127.0.0.1:0"], load: {class: latency}}
)";

TEST(Recycle, TwentyUnderLoadLoseNoRequestAndNoCount) {
  const auto host = TestHost::StartOrDie({kServices, {}, {}});
  const std::string group = host->Service("echo")->group();
  HttpLoad keep({{host->Port("echo"), host->Port("both")}, "/", 16, 1000, true});
  HttpLoad fresh({{host->Port("echo"), host->Port("both")}, "/", 8, 300, false});
  auto before = host->WorkerPids();
  for (int round = 0; round < 10; ++round) {
    for (const std::string& name : {group, std::string("pair")}) {
      const auto response = host->Recycle(name);
      ASSERT_TRUE(response.ok()) << response.status() << host->Log();
      EXPECT_EQ(response->failed_size(), 0) << response->failed(0);
      EXPECT_EQ(response->recycled_size(), name == group ? 1 : 2);
    }
  }
  const uint64_t answered = keep.answered();
  ASSERT_TRUE(Eventually([&] { return keep.answered() > answered + 500; }));
  const LoadReport report = keep.Stop();
  const LoadReport fresh_report = fresh.Stop();
  EXPECT_EQ(report.failures(), 0u) << report.first_failure;
  EXPECT_EQ(fresh_report.failures(), 0u) << fresh_report.first_failure;
  for (const auto& [slot, pid] : host->WorkerPids()) EXPECT_NE(before[slot], pid) << slot;
  // The drained generations are folded when they are gone.
  EXPECT_TRUE(Eventually([&] {
    uint64_t counted = 0;
    for (const auto& service : host->Services()) counted += service.requests();
    return counted == report.answered + fresh_report.answered;
  }));
}

TEST(Recycle, RCY_08_OthersDoNotWaitForALongRequest) {
  const auto host = TestHost::StartOrDie({kServices, {}, {}});
  const std::string group = host->Service("slow")->group();
  auto client = HttpClient::Connect(host->Port("slow"));
  ASSERT_TRUE(client.ok());
  ASSERT_TRUE(client->Send("GET /?ms=4000 HTTP/1.1\r\nHost: a\r\n\r\n").ok());
  ASSERT_TRUE(Eventually([&] { return host->Service("slow")->in_flight() == 1; }));
  HttpLoad load({{host->Port("echo")}, "/", 2, 100, false});
  const auto response = host->Recycle(group);
  ASSERT_TRUE(response.ok()) << response.status();
  const auto answer = client->Receive();
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->body, "after 4000 ms\n");
  const LoadReport report = load.Stop();
  EXPECT_EQ(report.failures(), 0u) << report.first_failure;
  EXPECT_LT(report.longest_gap, absl::Seconds(1));
}

TEST(Recycle, AnUnknownGroupIsNamedWithTheNearest) {
  const auto host = TestHost::StartOrDie({kServices, {}, {}});
  const auto response = host->Recycle("pari");
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.status().code(), absl::StatusCode::kNotFound);
  EXPECT_NE(std::string(response.status().message()).find("pair"), std::string::npos);
}

}  // namespace
}  // namespace cohost::testing
