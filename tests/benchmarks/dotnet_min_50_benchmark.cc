// SPDX-License-Identifier: Apache-2.0
//
// dotnet_min_50: one of 50 minimal APIs, unmodified, in one worker, after 200 requests to each. The
// peer, in the same run, is the same 50 applications as processes of their own, tuned for memory.
//   dotnet_min_50        PSS of everything, supervisor included, for each
//   dotnet_min_50_start  until each of them has answered
#include "tests/benchmarks/benchmark_report.h"
#include "tests/benchmarks/dotnet_fleet.h"
#include "tests/worker/dotnet/applications.h"

namespace cohost::benchmarks {
namespace {

void Benchmark() {
  if (!HaveDotnet()) return;
  const Fleet fleet{
      .application = "Minimal", .folder = testing::ApplicationFolder("Minimal"), .count = 50};
  const FleetFigures own = OwnFleet(fleet).Measure();
  const FleetFigures shared = SharedFleet(fleet, /*workers=*/1).Measure();
  BenchmarkReport("dotnet_min_50", shared.megabytes / fleet.count, "MB per service")
      .Compare("dotnet Minimal.dll for each, tuned", own.megabytes / fleet.count)
      .Note("idle_cores", shared.idle_cores)
      .Note("peer_idle_cores", own.idle_cores)
      .Print();
  BenchmarkReport("dotnet_min_50_start", absl::ToDoubleSeconds(shared.ready), "s")
      .Compare("dotnet Minimal.dll for each, tuned", absl::ToDoubleSeconds(own.ready))
      .Note("first_start_with_publish", absl::ToDoubleSeconds(shared.first_ready))
      .Print();
}

}  // namespace
}  // namespace cohost::benchmarks

int main() { return cohost::benchmarks::RunBenchmark(cohost::benchmarks::Benchmark); }
