// SPDX-License-Identifier: Apache-2.0
//
// A current folder for each service. The kernel knows one per process, and applications open files
// relative to it. The executable defines and exports getcwd, chdir and execve: libraries that are
// loaded later, as the runtime's native part and SQLite, find these before libc's. A thread that
// works for a service sees that service's folder; for any other thread they are the kernel's.
#pragma once

#include <cstdint>
#include <string>

namespace cohost::worker::dotnet {

// The service that the calling thread works for, as a row of the segment; negative: none. Cheap,
// never blocks.
void SetThreadService(int32_t row);
int32_t ThreadService();

// Absolute. What was set before stays allocated: other threads may be reading it.
void SetServiceFolder(int32_t row, const std::string& folder);

}  // namespace cohost::worker::dotnet
