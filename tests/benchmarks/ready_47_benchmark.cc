// SPDX-License-Identifier: Apache-2.0
//
// ready_47: how long the example's 47 services take to be there. From just before cohostd is
// started until a client has a 200 from every service. The client tries to connect from the
// beginning (every half millisecond while refused), sends one request to each service as soon as it
// can, and then takes the answers, all on one thread beside the start.
//   ready_47        median of 7 starts, modules already in the store, files in the page cache
//   ready_47_first  the start before them, with an empty store
#include <future>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "tests/benchmarks/benchmark_report.h"
#include "tests/benchmarks/example.h"
#include "tests/support/http_client.h"

namespace cohost::benchmarks {
namespace {

constexpr int kStarts = 7;
constexpr absl::Duration kLimit = absl::Seconds(40);
constexpr std::chrono::microseconds kRetry(500);

testing::HttpClient ConnectSoon(uint16_t port, SteadyTime give_up) {
  for (;;) {
    auto client = testing::HttpClient::Connect(port);
    if (client.ok()) return *std::move(client);
    if (SystemClock().Steady() > give_up) Fail(absl::StrCat("nobody listens at ", port));
    std::this_thread::sleep_for(kRetry);
  }
}

// When the last service has answered.
SteadyTime AskAll(const std::vector<uint16_t>& ports) {
  const SteadyTime give_up = SystemClock().Steady() + kLimit;
  std::vector<testing::HttpClient> clients;
  for (const uint16_t port : ports) {
    clients.push_back(ConnectSoon(port, give_up));
    Require(clients.back().Send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"), "client");
  }
  for (testing::HttpClient& client : clients) {
    const auto answer = Require(client.Receive(), "client");
    if (answer.status != 200) Fail(absl::StrCat("a service answered ", answer.status));
  }
  return SystemClock().Steady();
}

double MillisecondsUntilReady(const Example& example) {
  const SteadyTime begin = SystemClock().Steady();
  auto last = std::async(std::launch::async, [&example] { return AskAll(example.ports()); });
  const auto host = example.Start(kExampleGrouping);
  return absl::ToDoubleMilliseconds(last.get() - begin);
}

void Benchmark() {
  const Example example;
  if (example.ports().size() != 47) Fail("the example does not have 47 services");
  const double first = MillisecondsUntilReady(example);
  std::vector<double> starts;
  for (int i = 0; i < kStarts; ++i) starts.push_back(MillisecondsUntilReady(example));
  BenchmarkReport("ready_47", Median(starts), "ms").Print();
  BenchmarkReport("ready_47_first", first, "ms").Print();
}

}  // namespace
}  // namespace cohost::benchmarks

int main() { return cohost::benchmarks::RunBenchmark(cohost::benchmarks::Benchmark); }
