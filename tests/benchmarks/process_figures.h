// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/time/time.h"

namespace cohost::benchmarks {

// Figures of living processes, of the kernel's own accounts. A process that has ended meanwhile
// fails the benchmark.

// What all threads of the process have used, user and system, in nanoseconds
// (/proc/PID/task/*/schedstat): /proc/PID/stat counts in ticks of 10 ms. A thread that ended takes
// its part along.
absl::Duration CpuTime(pid_t pid);

// Proportional set size in MB (10^6 bytes): shared pages count by their share, so sums are true.
double ProportionalMegabytes(pid_t pid);
double ProportionalMegabytes(const std::vector<pid_t>& pids);

// How often the process's threads of this name have waited (voluntary context switches).
uint64_t VoluntarySwitches(pid_t pid, std::string_view thread_name);

}  // namespace cohost::benchmarks
