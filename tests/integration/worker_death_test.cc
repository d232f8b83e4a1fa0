// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <signal.h>

#include "tests/support/http_load.h"
#include "tests/support/test_host.h"
#include "tests/support/wait.h"

namespace cohost::testing {
namespace {

constexpr char kServices[] = R"(
services:
  - {name: a, runtime: native, module: "${echo}", listen: ["http://127.0.0.1:0"]}
  - {name: b, runtime: native, module: "${echo}", listen: ["http://127.0.0.1:0"]}
  - {name: other, runtime: native, module: "${echo}", listen: ["http://127.0.0.1:0"], load: {class: batch}}
)";

TEST(WorkerDeath, OnlyItsOwnConnectionsEndAndItsServicesAnswerWithin200Milliseconds) {
  const auto host = TestHost::StartOrDie({kServices, {}, {}});
  const auto before = host->WorkerPids();
  ASSERT_EQ(before.size(), 2u);
  const std::string group = host->Service("a")->group();
  const pid_t victim = before.at(group + "/0");
  HttpLoad load({{host->Port("a"), host->Port("b")}, "/", 16, /*rate=*/2000, true});
  HttpLoad fresh({{host->Port("a"), host->Port("b")}, "/", 16, /*rate=*/400, false});
  HttpLoad neighbour({{host->Port("other")}, "/", 4, /*rate=*/200, true});
  ASSERT_TRUE(Eventually([&] { return load.answered() > 2000 && fresh.answered() > 200; }));
  ASSERT_EQ(kill(victim, SIGKILL), 0);
  ASSERT_TRUE(Eventually([&] {
    const auto pids = host->WorkerPids();
    return pids.contains(group + "/0") && pids.at(group + "/0") != victim;
  })) << host->Log();
  const uint64_t answered = load.answered();
  ASSERT_TRUE(Eventually([&] { return load.answered() > answered + 2000; }));

  const LoadReport report = load.Stop();
  // What the worker had accepted has ended; nothing else did: nobody was refused, and who waited in
  // the queue was served by the replacement.
  EXPECT_LE(report.cut_in_flight + report.closed_idle + report.cut_new, 16u)
      << report.first_failure;
  EXPECT_EQ(report.refused, 0u) << report.first_failure;
  EXPECT_EQ(report.other_status + report.malformed + report.timed_out, 0u) << report.first_failure;
  EXPECT_LE(report.longest_gap, absl::Milliseconds(200));
  const LoadReport fresh_report = fresh.Stop();
  EXPECT_EQ(fresh_report.refused, 0u) << fresh_report.first_failure;
  EXPECT_LE(fresh_report.cut_new, 16u);
  const LoadReport neighbour_report = neighbour.Stop();
  EXPECT_EQ(neighbour_report.failures(), 0u) << neighbour_report.first_failure;
  EXPECT_EQ(neighbour_report.closed_idle, 0u);
  // Not one count was lost with it, but for the one answer that may have left at the very moment of
  // the kill: a request is counted when its last byte is the kernel's.
  EXPECT_TRUE(Eventually([&] {
    uint64_t counted = 0;
    for (const auto& service : host->Services()) counted += service.requests();
    return counted + 1 >= report.answered + fresh_report.answered + neighbour_report.answered;
  }));
}

}  // namespace
}  // namespace cohost::testing
