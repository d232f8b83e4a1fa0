// SPDX-License-Identifier: Apache-2.0
//
// idle_1000: what watching over many services costs. 1,000 services of tests/services/hello.so in
// groups of the default size, which nobody calls but the host itself: probes on the request path
// (every 5 s each), health checks, sampling of the workers, and a scrape of the metrics every 15 s.
// 5 s after all are ready, for 60 s:
//   idle_1000      CPU time (user and system) of supervisor and keeper, in percent of one core
//   idle_1000_pss  their proportional set sizes at the end
#include <chrono>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "tests/benchmarks/benchmark_report.h"
#include "tests/benchmarks/process_figures.h"
#include "tests/support/test_host.h"

namespace cohost::benchmarks {
namespace {

constexpr int kServices = 1000;
constexpr int kScrapes = 4;
constexpr std::chrono::seconds kScrapeInterval(15);
constexpr std::chrono::seconds kSettling(5);

std::string Deployment() {
  std::string text = "services:\n";
  for (int i = 0; i < kServices; ++i) {
    absl::StrAppend(&text, "  - {name: hello-", i,
                    ", runtime: native, module: \"${hello}\", listen: [\"http://127.0.0.1:0\"], ",
                    "load: {class: idle}, health: {path: \"/\"}}\n");
  }
  return text;
}

void Benchmark() {
  const auto host = Require(testing::TestHost::Start({Deployment(), {}, {}}), "the host");
  const auto workers = static_cast<double>(host->WorkerPids().size());
  const pid_t supervisor = host->SupervisorPid();
  const pid_t keeper = host->keeper().pid();
  std::this_thread::sleep_for(kSettling);

  const SteadyTime begin = SystemClock().Steady();
  const absl::Duration supervisor_before = CpuTime(supervisor);
  const absl::Duration keeper_before = CpuTime(keeper);
  for (int i = 0; i < kScrapes; ++i) {
    std::this_thread::sleep_for(kScrapeInterval);
    if (host->Metrics().find("hello-999") == std::string::npos) Fail("a service has no metrics");
  }
  const absl::Duration of_supervisor = CpuTime(supervisor) - supervisor_before;
  const absl::Duration of_keeper = CpuTime(keeper) - keeper_before;
  const absl::Duration passed = SystemClock().Steady() - begin;
  const double pss = ProportionalMegabytes({supervisor, keeper});
  BenchmarkReport("idle_1000", absl::FDivDuration(of_supervisor + of_keeper, passed) * 100,
                  "% of a core")
      .Note("of_keeper", absl::FDivDuration(of_keeper, passed) * 100)
      .Note("workers", workers)
      .Print();
  BenchmarkReport("idle_1000_pss", pss, "MB")
      .Note("of_keeper", ProportionalMegabytes(keeper))
      .Print();
}

}  // namespace
}  // namespace cohost::benchmarks

int main() { return cohost::benchmarks::RunBenchmark(cohost::benchmarks::Benchmark); }
