// SPDX-License-Identifier: Apache-2.0
//
// accept_wakeups: how many accept threads one connection wakes. 8 workers share one listener; 2,000
// clients connect one after the other, ask once, and leave. The figure is the voluntary context
// switches of the accept threads of all 8 workers, divided by the connections; each thread's own
// wake-up once a second is in it.
#include <vector>

#include "tests/benchmarks/benchmark_report.h"
#include "tests/benchmarks/process_figures.h"
#include "tests/support/http_client.h"
#include "tests/support/test_host.h"

namespace cohost::benchmarks {
namespace {

constexpr size_t kWorkers = 8;
constexpr int kConnections = 2000;
constexpr int kWarmUpConnections = 100;
constexpr char kServices[] = R"(
groups: [{name: eight, workers: 8}]
services:
  - {name: hello, runtime: native, module: "${hello}", group: eight, listen: ["http://127.0.0.1:0"]}
)";

void ConnectOnce(uint16_t port) {
  auto client = Require(testing::HttpClient::Connect(port), "client");
  Require(client.Send("GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"), "client");
  if (Require(client.Receive(), "client").status != 200) Fail("the answer is not 200");
}

uint64_t Switches(const std::vector<pid_t>& workers) {
  uint64_t total = 0;
  for (const pid_t worker : workers) total += VoluntarySwitches(worker, "accept");
  return total;
}

void Benchmark() {
  const auto host = Require(testing::TestHost::Start({kServices, {}, {}}), "the host");
  if (!host->WaitUntilReady()) Fail("the host is not ready");
  std::vector<pid_t> workers;
  for (const auto& [slot, pid] : host->WorkerPids()) workers.push_back(pid);
  if (workers.size() != kWorkers) Fail("there are not 8 workers");
  const uint16_t port = host->Port("hello");
  for (int i = 0; i < kWarmUpConnections; ++i) ConnectOnce(port);
  const uint64_t before = Switches(workers);
  for (int i = 0; i < kConnections; ++i) ConnectOnce(port);
  const auto wakeups = static_cast<double>(Switches(workers) - before);
  BenchmarkReport("accept_wakeups", wakeups / kConnections, "wake-ups per connection").Print();
}

}  // namespace
}  // namespace cohost::benchmarks

int main() { return cohost::benchmarks::RunBenchmark(cohost::benchmarks::Benchmark); }
