// SPDX-License-Identifier: Apache-2.0
#include "tests/benchmarks/process_figures.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "base/system/pidfd.h"
#include "supervisor/process/process_stats.h"
#include "tests/benchmarks/benchmark_report.h"

namespace cohost::benchmarks {
namespace {

std::vector<std::filesystem::path> Threads(pid_t pid) {
  std::vector<std::filesystem::path> threads;
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator(absl::StrCat("/proc/", pid, "/task"), error)) {
    threads.push_back(entry.path());
  }
  if (threads.empty()) Fail(absl::StrCat("process ", pid, " has ended"));
  return threads;
}

}  // namespace

absl::Duration CpuTime(pid_t pid) {
  int64_t total = 0;
  for (const auto& thread : Threads(pid)) {
    std::ifstream file(thread / "schedstat");
    int64_t nanoseconds = 0;
    // One that ended after it was listed reads as nothing.
    if (file >> nanoseconds) total += nanoseconds;
  }
  return absl::Nanoseconds(total);
}

double ProportionalMegabytes(pid_t pid) {
  const UniqueFd pidfd = OpenPidfd(pid);
  const auto process = Require(supervisor::ProcessStats::Open(pid, pidfd.get()), "/proc");
  return static_cast<double>(Require(process.ReadMemory(), "smaps_rollup").pss.count) / 1e6;
}

double ProportionalMegabytes(const std::vector<pid_t>& pids) {
  double total = 0;
  for (const pid_t pid : pids) total += ProportionalMegabytes(pid);
  return total;
}

uint64_t VoluntarySwitches(pid_t pid, std::string_view thread_name) {
  uint64_t total = 0;
  bool found = false;
  for (const auto& thread : Threads(pid)) {
    std::string name;
    std::ifstream comm(thread / "comm");
    std::getline(comm, name);
    if (name != thread_name) continue;
    std::ifstream status(thread / "status");
    for (std::string word; status >> word;) {
      if (word != "voluntary_ctxt_switches:") continue;
      uint64_t switches = 0;
      found = static_cast<bool>(status >> switches);
      total += switches;
    }
  }
  if (!found)
    Fail(absl::StrCat("process ", pid, " has no thread '", std::string(thread_name), "'"));
  return total;
}

}  // namespace cohost::benchmarks
