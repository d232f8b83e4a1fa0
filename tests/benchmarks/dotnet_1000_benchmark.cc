// SPDX-License-Identifier: Apache-2.0
//
// dotnet_1000: 1,000 minimal APIs, unmodified, in one worker, after 20 requests to each: everything
// that runs, supervisor included.
//   dotnet_1000        PSS
//   dotnet_1000_start  from the start of the worker until each of them has answered
//   dotnet_1000_idle   CPU when nobody asks
#include "tests/benchmarks/benchmark_report.h"
#include "tests/benchmarks/dotnet_fleet.h"
#include "tests/worker/dotnet/applications.h"

namespace cohost::benchmarks {
namespace {

void Benchmark() {
  if (!HaveDotnet()) return;
  const Fleet fleet{.application = "Minimal",
                    .folder = testing::ApplicationFolder("Minimal"),
                    .count = 1000,
                    .requests = 20};
  const FleetFigures shared = SharedFleet(fleet, /*workers=*/1).Measure();
  BenchmarkReport("dotnet_1000", shared.megabytes, "MB").Print();
  BenchmarkReport("dotnet_1000_start", absl::ToDoubleSeconds(shared.ready), "s")
      .Note("first_start_with_publish", absl::ToDoubleSeconds(shared.first_ready))
      .Print();
  BenchmarkReport("dotnet_1000_idle", shared.idle_cores * 100, "% of a core").Print();
}

}  // namespace
}  // namespace cohost::benchmarks

int main() { return cohost::benchmarks::RunBenchmark(cohost::benchmarks::Benchmark); }
