// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "supervisor/config/deployment.h"

namespace cohost::supervisor {

// The environment variables, "KEY=value", that make the .NET runtime of a group's workers what its
// policy says. `root` is where .NET is; empty: not said.
std::vector<std::string> DotnetEnvironment(const GroupPolicy& policy, const std::string& root);

// The limit of the managed heap: as said, or three quarters of what the worker may use, so that
// there is room for code, stacks and native memory; 0: none.
Bytes HeapLimit(const GroupPolicy& policy);

}  // namespace cohost::supervisor
