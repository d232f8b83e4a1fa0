// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_host.h"
#include "tests/support/test_process.h"

namespace cohost::benchmarks {

// Whether this build found a .NET SDK; says so when it did not, and then there is nothing to
// measure.
bool HaveDotnet();

// One ASP.NET Core application, many times.
struct Fleet {
  // NAME of NAME.dll, and the folder that it was published to.
  std::string application;
  std::string folder;
  int count = 1;
  std::string target = "/";
  // Further keys of every service (", persist: [app.db]").
  std::string keys{};
  // Keys of the groups' `dotnet:`.
  std::string dotnet{};
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

// The fleet as services of one host, in `workers` workers, each of which is replaced once: what
// runs then has loaded what was published before. Ends with the object.
class SharedFleet {
 public:
  SharedFleet(const Fleet& fleet, int workers);

  FleetFigures Measure() const;
  // Of each service, in the order of its number.
  const std::vector<uint16_t>& ports() const { return ports_; }
  // Keeper, supervisor and workers.
  const std::vector<pid_t>& processes() const { return processes_; }

 private:
  const Fleet fleet_;
  std::unique_ptr<testing::TestHost> host_;
  std::vector<uint16_t> ports_;
  std::vector<pid_t> processes_;
  absl::Duration first_ready_;
  absl::Duration ready_;
};

// Each application as a process of its own, `dotnet NAME.dll` in a folder of links, tuned for
// memory: workstation GC, not concurrent, no tiered PGO, no W^X, a first generation of 4 MB. Ends
// with the object.
class OwnFleet {
 public:
  explicit OwnFleet(const Fleet& fleet);

  FleetFigures Measure() const;
  const std::vector<uint16_t>& ports() const { return ports_; }
  const std::vector<pid_t>& processes() const { return processes_; }

 private:
  const Fleet fleet_;
  testing::TemporaryFolder folder_;
  std::vector<std::unique_ptr<testing::TestProcess>> running_;
  std::vector<uint16_t> ports_;
  std::vector<pid_t> processes_;
  absl::Duration ready_;
};

}  // namespace cohost::benchmarks
