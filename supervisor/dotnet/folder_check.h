// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "supervisor/dotnet/verdict.h"

namespace cohost::supervisor {

// Adds what publishing the folder of an application would refuse of its assemblies: damaged ones,
// those for another machine, composite images. Blocks on the disk; any thread.
void CheckFolder(const std::string& folder, Verdict& verdict);

}  // namespace cohost::supervisor
