// SPDX-License-Identifier: Apache-2.0
//
// dotnet_heavy_50: one of 50 applications on Entity Framework Core, SQLite and MVC (the example
// Tasks, precompiled), unmodified, in one worker, each with libraries of its own, after 50 requests
// to each. The peer, in the same run, is the same 50 as processes of their own, tuned for memory.
//   dotnet_heavy_50        PSS of everything, supervisor included, for each
//   dotnet_heavy_50_start  until each of them has answered
#include "tests/benchmarks/benchmark_report.h"
#include "tests/benchmarks/dotnet_fleet.h"
#include "tests/support/test_process.h"

namespace cohost::benchmarks {
namespace {

constexpr char kPeer[] = "dotnet Tasks.dll for each, tuned";

void Benchmark() {
  if (!HaveDotnet()) return;
  const Fleet fleet{.application = "Tasks",
                    .folder = testing::ProgramPath("deploy/examples/dotnet/apps/Tasks"),
                    .count = 50,
                    .target = "/tasks",
                    .keys = ", persist: [tasks.db, tasks.db-shm, tasks.db-wal]",
                    .requests = 50};
  const FleetFigures own = OwnFleet(fleet).Measure();
  const FleetFigures shared = SharedFleet(fleet, /*workers=*/1).Measure();
  BenchmarkReport("dotnet_heavy_50", shared.megabytes / fleet.count, "MB per service")
      .Compare(kPeer, own.megabytes / fleet.count)
      .Print();
  BenchmarkReport("dotnet_heavy_50_start", absl::ToDoubleSeconds(shared.ready), "s")
      .Compare(kPeer, absl::ToDoubleSeconds(own.ready))
      .Note("first_start_with_publish", absl::ToDoubleSeconds(shared.first_ready))
      .Print();
}

}  // namespace
}  // namespace cohost::benchmarks

int main() { return cohost::benchmarks::RunBenchmark(cohost::benchmarks::Benchmark); }
