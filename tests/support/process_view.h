// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/units.h"

// What anybody can see of a running process in /proc, read by the tests' own code and not by that
// of the product. A process that is gone has nothing: empty values and zeros.
namespace cohost::testing {

// A line of /proc/PID/status without its name and white space: StatusField(pid, "SigIgn").
std::string StatusField(pid_t pid, const std::string& name);
bool IsAlive(pid_t pid);  // zombies are not

// Number and what it leads to, as the kernel names it: "socket:[12345]", "/memfd:x (deleted)".
std::map<int, std::string> DescriptorsOf(pid_t pid);
// How many of them have this prefix.
size_t CountDescriptors(pid_t pid, const std::string& prefix);
bool HasCloseOnExec(pid_t pid, int descriptor);

std::string EnvironmentOf(pid_t pid);  // NUL between variables
int OomScoreAdjustment(pid_t pid);

std::vector<pid_t> ChildrenOf(pid_t pid);
// Children, their children, and so on.
std::vector<pid_t> DescendantsOf(pid_t pid);

absl::Duration CpuTimeOf(pid_t pid);
// Of all its threads together; the first also of one thread's name.
uint64_t VoluntarySwitches(pid_t pid, const std::string& thread_name = "");

struct MemoryFigures {
  Bytes pss;
  Bytes private_bytes;
  Bytes rss;
};
MemoryFigures MemoryOf(pid_t pid);

}  // namespace cohost::testing
