// SPDX-License-Identifier: Apache-2.0
//
// pss_47: memory of one of the example's 47 services. Each answers 1,000 requests for "/" over 4
// connections; then nothing happens for 10 s; then the proportional set sizes of all Cohost
// processes are summed and divided by 47. The peer, in the same run and by the same steps, is
// the same 47 services as 47 workers of one service each, under the same keeper and supervisor.
//   pss_47          all processes
//   pss_47_workers  the workers alone
#include <thread>
#include <vector>

#include "tests/benchmarks/benchmark_report.h"
#include "tests/benchmarks/closed_loop.h"
#include "tests/benchmarks/example.h"
#include "tests/benchmarks/process_figures.h"

namespace cohost::benchmarks {
namespace {

constexpr uint64_t kRequests = 1000;
constexpr int kConnections = 4;
constexpr std::chrono::seconds kIdle(10);
constexpr char kPeer[] = "the same services in 47 workers of one service each, same supervisor";

struct Memory {
  size_t worker_count;
  double all;
  double workers;
};

Memory Measure(const Example& example, const char* grouping) {
  const auto host = example.Start(grouping);
  for (const uint16_t port : example.ports()) {
    (void)ClosedLoop(port, kConnections).Run(kRequests);
  }
  const pid_t supervisor = host->SupervisorPid();
  std::vector<pid_t> workers;
  for (const auto& [slot, pid] : host->WorkerPids()) workers.push_back(pid);
  std::this_thread::sleep_for(kIdle);
  const double of_workers = ProportionalMegabytes(workers);
  const double of_hosts = ProportionalMegabytes({host->keeper().pid(), supervisor});
  const auto services = static_cast<double>(example.ports().size());
  return {workers.size(), (of_workers + of_hosts) / services, of_workers / services};
}

void Benchmark() {
  const Example example;
  const Memory shared = Measure(example, kExampleGrouping);
  const Memory alone = Measure(example, "{strategy: load_profile, max_services_per_worker: 1}");
  if (alone.worker_count != example.ports().size()) Fail("the peer does not have 47 workers");
  const auto workers = static_cast<double>(shared.worker_count);
  BenchmarkReport("pss_47", shared.all, "MB per service")
      .Compare(kPeer, alone.all)
      .Note("workers", workers)
      .Print();
  BenchmarkReport("pss_47_workers", shared.workers, "MB per service")
      .Compare(kPeer, alone.workers)
      .Note("workers", workers)
      .Print();
}

}  // namespace
}  // namespace cohost::benchmarks

int main() { return cohost::benchmarks::RunBenchmark(cohost::benchmarks::Benchmark); }
