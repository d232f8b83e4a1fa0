// SPDX-License-Identifier: Apache-2.0
//
// hello: what hosting costs a request. The inline service tests/services/hello.so, in a worker of a
// whole host with accounting, limits and metrics on, against bare_beast, an HTTP loop of Beast
// alone on one thread that sends the same bytes. The same client asks both: 16 keep-alive
// connections on one thread, each sending its next request when it has its answer. 9 pairs of
// 20,000 requests each, taken in turns; every second pair begins with the peer. The host's metrics
// are scraped once in each pair.
//   hello      CPU time (user and system, all threads) of the server process per request
//   hello_p50  median time from sending a request to having its answer
// Values are medians over the rounds, the ratio is the median of the pairs' ratios.
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <vector>

#include "base/system/unique_fd.h"
#include "tests/benchmarks/benchmark_report.h"
#include "tests/benchmarks/closed_loop.h"
#include "tests/benchmarks/process_figures.h"
#include "tests/support/http_client.h"
#include "tests/support/test_host.h"
#include "tests/support/test_process.h"

namespace cohost::benchmarks {
namespace {

constexpr int kPairs = 9;
constexpr uint64_t kRequests = 20'000;
constexpr uint64_t kWarmUpRequests = 5'000;
constexpr int kConnections = 16;
constexpr char kServices[] = R"(
services:
  - {name: hello, runtime: native, module: "${hello}", listen: ["http://127.0.0.1:0"]}
)";
constexpr char kPeer[] = "bare Beast loop, one thread";

// A bare_beast process and the port that it printed.
struct BareBeast {
  std::unique_ptr<testing::TestProcess> process;
  uint16_t port = 0;
};

BareBeast StartBareBeast() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) Fail("pipe2");
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  BareBeast server;
  server.process = Require(
      testing::TestProcess::Start({.command = {testing::ProgramPath("tests/benchmarks/bare_beast")},
                                   .descriptors = {{STDOUT_FILENO, writer.get()}}}),
      "bare_beast");
  writer.Reset();
  char line[16] = {};
  if (!testing::WaitReadable(reader.get()) || read(reader.get(), line, sizeof(line) - 1) <= 0) {
    Fail("bare_beast did not start");
  }
  server.port = static_cast<uint16_t>(std::atoi(line));
  return server;
}

// Both must do the same work: the same answer, but for the time of day in it.
void RequireSameAnswers(uint16_t a, uint16_t b) {
  const auto ask = [](uint16_t port) {
    auto client = Require(testing::HttpClient::Connect(port), "client");
    auto answer = Require(client.Get("/"), "client");
    const size_t date = answer.head.find("Date: ");
    if (date != std::string::npos) answer.head.erase(date, sizeof("Date: ") - 1 + 29);
    return answer.head + answer.body;
  };
  if (ask(a) != ask(b)) Fail("the peer answers otherwise:\n" + ask(a) + "\n" + ask(b));
}

struct Round {
  double cpu_microseconds;  // per request
  double p50_microseconds;
};

Round Measure(ClosedLoop& client, pid_t server) {
  const absl::Duration before = CpuTime(server);
  std::vector<double> latencies = client.Run(kRequests);
  const absl::Duration used = CpuTime(server) - before;
  return {absl::ToDoubleMicroseconds(used) / static_cast<double>(kRequests),
          Percentile(latencies, 0.5)};
}

void Report(const char* name, const std::vector<Round>& hosted, const std::vector<Round>& bare,
            double Round::*figure) {
  std::vector<double> values;
  std::vector<double> peers;
  std::vector<double> ratios;
  for (size_t i = 0; i < hosted.size(); ++i) {
    values.push_back(hosted[i].*figure);
    peers.push_back(bare[i].*figure);
    ratios.push_back(values.back() / peers.back());
  }
  BenchmarkReport(name, Median(values), "us").Compare(kPeer, Median(peers), Median(ratios)).Print();
}

void Benchmark() {
  const auto host = Require(testing::TestHost::Start({kServices, {}, {}}), "the host");
  const BareBeast beast = StartBareBeast();
  const auto workers = host->WorkerPids();
  if (workers.size() != 1) Fail("there is not one worker");
  const pid_t worker = workers.begin()->second;
  RequireSameAnswers(host->Port("hello"), beast.port);

  ClosedLoop to_host(host->Port("hello"), kConnections);
  ClosedLoop to_beast(beast.port, kConnections);
  (void)to_host.Run(kWarmUpRequests);
  (void)to_beast.Run(kWarmUpRequests);
  std::vector<Round> hosted;
  std::vector<Round> bare;
  for (int pair = 0; pair < kPairs; ++pair) {
    if (host->Metrics().empty()) Fail("the metrics were not answered");
    if (pair % 2 == 1) bare.push_back(Measure(to_beast, beast.process->pid()));
    hosted.push_back(Measure(to_host, worker));
    if (pair % 2 == 0) bare.push_back(Measure(to_beast, beast.process->pid()));
  }
  Report("hello", hosted, bare, &Round::cpu_microseconds);
  Report("hello_p50", hosted, bare, &Round::p50_microseconds);
}

}  // namespace
}  // namespace cohost::benchmarks

int main() { return cohost::benchmarks::RunBenchmark(cohost::benchmarks::Benchmark); }
