// SPDX-License-Identifier: Apache-2.0
//
// worker_start: from just before cohost-worker is started, without services, until it has answered
// the supervisor's hello on its link, which it does when it is ready to be given services. Median
// of 21 starts, one after the other.
#include <vector>

#include "base/clock.h"
#include "tests/benchmarks/benchmark_report.h"
#include "tests/support/worker_peer.h"

namespace cohost::benchmarks {
namespace {

constexpr int kStarts = 21;

double MillisecondsUntilReady() {
  const SteadyTime begin = SystemClock().Steady();
  testing::WorkerPeer worker;
  (void)Require(worker.Hello(), "hello");
  return absl::ToDoubleMilliseconds(SystemClock().Steady() - begin);
}

void Benchmark() {
  (void)MillisecondsUntilReady();  // brings its file into the page cache
  std::vector<double> starts;
  for (int i = 0; i < kStarts; ++i) starts.push_back(MillisecondsUntilReady());
  BenchmarkReport("worker_start", Median(starts), "ms").Print();
}

}  // namespace
}  // namespace cohost::benchmarks

int main() { return cohost::benchmarks::RunBenchmark(cohost::benchmarks::Benchmark); }
