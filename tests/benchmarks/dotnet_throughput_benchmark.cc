// SPDX-License-Identifier: Apache-2.0
//
// dotnet_throughput: requests of "GET /" a second that a minimal API answers in a worker that it
// shares with nine others. The peer is the same application as a process of its own. Both run on
// one processor, the clients (8 keep-alive connections) on the others; they take turns, and the
// ratio is the median of the pairs.
#include <sched.h>

#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/benchmarks/benchmark_report.h"
#include "tests/benchmarks/closed_loop.h"
#include "tests/benchmarks/dotnet_fleet.h"
#include "tests/support/process_view.h"
#include "tests/worker/dotnet/applications.h"

namespace cohost::benchmarks {
namespace {

constexpr int kNeighbours = 9;
constexpr int kConnections = 8;
constexpr int kPairs = 9;
constexpr uint64_t kWarmUp = 20'000;
constexpr uint64_t kRequests = 20'000;
constexpr int kServersProcessor = 0;

void RunOn(pid_t thread, bool of_server) {
  cpu_set_t processors;
  CPU_ZERO(&processors);
  const int count = static_cast<int>(std::thread::hardware_concurrency());
  for (int i = 0; i < count; ++i) {
    if ((i == kServersProcessor) == of_server || count == 1) CPU_SET(i, &processors);
  }
  // Ignoring: a thread that has just ended runs nowhere.
  (void)::sched_setaffinity(thread, sizeof(processors), &processors);
}

// All threads that the process has now; those to come inherit it.
void RunOnServersProcessor(pid_t process) {
  for (const auto& entry :
       std::filesystem::directory_iterator(absl::StrCat("/proc/", process, "/task"))) {
    int thread = 0;
    if (absl::SimpleAtoi(entry.path().filename().string(), &thread)) {
      RunOn(thread, /*of_server=*/true);
    }
  }
}

struct Figures {
  double requests_per_second = 0;
  absl::Duration cpu;  // of the server, for each request
};

Figures Ask(ClosedLoop& clients, pid_t server, uint64_t requests) {
  const absl::Duration cpu_before = testing::CpuTimeOf(server);
  const absl::Time begin = absl::Now();
  (void)clients.Run(requests);
  const double count = static_cast<double>(requests);
  return {count / absl::ToDoubleSeconds(absl::Now() - begin),
          (testing::CpuTimeOf(server) - cpu_before) / count};
}

void Benchmark() {
  if (!HaveDotnet()) return;
  const std::string folder = testing::ApplicationFolder("Minimal");
  const SharedFleet shared({.application = "Minimal", .folder = folder, .count = kNeighbours + 1},
                           /*workers=*/1);
  const OwnFleet own({.application = "Minimal", .folder = folder, .count = 1});
  for (const pid_t pid : shared.processes()) RunOnServersProcessor(pid);
  for (const pid_t pid : own.processes()) RunOnServersProcessor(pid);
  RunOn(0, /*of_server=*/false);

  ClosedLoop of_shared(shared.ports().front(), kConnections);
  ClosedLoop of_own(own.ports().front(), kConnections);
  const pid_t worker = shared.processes().back();
  const pid_t process = own.processes().front();
  (void)Ask(of_shared, worker, kWarmUp);
  (void)Ask(of_own, process, kWarmUp);
  std::vector<double> ratios, cpu_ratios, values, peers;
  for (int i = 0; i < kPairs; ++i) {
    const Figures ours = Ask(of_shared, worker, kRequests);
    const Figures alone = Ask(of_own, process, kRequests);
    values.push_back(ours.requests_per_second);
    peers.push_back(alone.requests_per_second);
    ratios.push_back(ours.requests_per_second / alone.requests_per_second);
    cpu_ratios.push_back(absl::FDivDuration(ours.cpu, alone.cpu));
  }
  BenchmarkReport("dotnet_throughput", Median(values), "requests/s")
      .Compare("dotnet Minimal.dll by itself, tuned", Median(peers), Median(ratios))
      .Note("cpu_of_a_request_ratio", Median(cpu_ratios))
      .Print();
}

}  // namespace
}  // namespace cohost::benchmarks

int main() { return cohost::benchmarks::RunBenchmark(cohost::benchmarks::Benchmark); }
