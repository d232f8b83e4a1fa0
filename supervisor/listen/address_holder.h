// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>

#include "supervisor/config/deployment.h"

namespace cohost::supervisor {

// Who listens on an address that is in use, for a message: "process 17 (nginx)", "this process", or
// "another process" when it cannot be found out (another user's, another namespace's, or the search
// would take long). Reads /proc, at most some 10,000 files. Thread-safe.
std::string DescribeHolder(const Address& address);

// "process 17 (nginx)" of a process number; 0 is a process that this namespace cannot see.
std::string DescribeProcess(pid_t pid);

}  // namespace cohost::supervisor
