// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tests/support/test_host.h"
#include "tests/support/test_process.h"

namespace cohost::benchmarks {

// Whether this build found a .NET SDK; says so when it did not, and then there is nothing to
// measure.
bool HaveDotnet();

// One ASP.NET Core application (of //tests/worker/dotnet/apps), many times.
struct Fleet {
  std::string application;
  int count = 1;
  // What each of them answers before its memory is measured.
  uint64_t requests = 200;
};

struct FleetFigures {
  // From the start of processes until each has answered once.
  absl::Duration ready;
  // Shared only: the same of the first start of all, with what it publishes.
  absl::Duration first_ready;
  // PSS of everything that belongs to it, 5 s after the last answer.
  double megabytes = 0;
  // CPU of everything, of one core, in the 10 s after that. 0.01: 1 %.
  double idle_cores = 0;
};

// As services of one host, in `workers` workers, each of which is replaced once before anything is
// measured: the replacements load what was published before. `more`: further keys of every service
// (", instances: all").
FleetFigures MeasureShared(const Fleet& fleet, int workers, const std::string& more = "");

// Each as a process of its own, `dotnet NAME.dll`, tuned for memory: workstation GC, not
// concurrent, no tiered PGO, no W^X, a first generation of 4 MB.
FleetFigures MeasureOwn(const Fleet& fleet);

// "DOTNET_gcConcurrent=0" and the others of MeasureOwn.
std::vector<std::string> TunedEnvironment();

}  // namespace cohost::benchmarks
