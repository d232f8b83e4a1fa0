// SPDX-License-Identifier: Apache-2.0
//
// dotnet_heavy_shared_50: the fifty applications of dotnet_heavy_50 (Entity Framework Core, SQLite
// and MVC) in one worker, by what of their libraries exists once. The peer, in the same run, is the
// same 50 as processes of their own, tuned for memory.
//   dotnet_heavy_shared_50_none      libraries of their own
//   dotnet_heavy_shared_50_reviewed  share_libraries: reviewed
//   dotnet_heavy_shared_50_listed    share_libraries: listed, with all that the application has
// Each is PSS of everything, supervisor included, for each service.
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/benchmarks/benchmark_report.h"
#include "tests/benchmarks/dotnet_fleet.h"
#include "tests/support/test_process.h"

namespace cohost::benchmarks {
namespace {

constexpr char kPeer[] = "dotnet Tasks.dll for each, tuned";
// What is not reviewed of the application's libraries.
constexpr char kListed[] =
    "share_libraries: listed, shared_libraries: [Microsoft.Extensions.DependencyModel/10]";

void Benchmark() {
  if (!HaveDotnet()) return;
  Fleet fleet{.application = "Tasks",
              .folder = testing::ProgramPath("deploy/examples/dotnet/apps/Tasks"),
              .count = 50,
              .target = "/tasks",
              .keys = ", persist: [tasks.db, tasks.db-shm, tasks.db-wal]",
              .requests = 50};
  const FleetFigures own = OwnFleet(fleet).Measure();
  for (const auto& [name, dotnet] :
       {std::pair<std::string, std::string>{"none", "share_libraries: none"},
        {"reviewed", "share_libraries: reviewed"},
        {"listed", kListed}}) {
    fleet.dotnet = dotnet;
    const FleetFigures shared = SharedFleet(fleet, /*workers=*/1).Measure();
    BenchmarkReport(absl::StrCat("dotnet_heavy_shared_50_", name), shared.megabytes / fleet.count,
                    "MB per service")
        .Compare(kPeer, own.megabytes / fleet.count)
        .Note("start_seconds", absl::ToDoubleSeconds(shared.ready))
        .Print();
  }
}

}  // namespace
}  // namespace cohost::benchmarks

int main() { return cohost::benchmarks::RunBenchmark(cohost::benchmarks::Benchmark); }
