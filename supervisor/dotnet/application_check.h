// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "supervisor/dotnet/verdict.h"
#include "supervisor/dotnet/worker_frameworks.h"

namespace cohost::supervisor {

// Whether the application whose main assembly is `app` may share a worker, from its
// runtimeconfig.json, its deps.json, and what the assemblies that were built with it use of others
// (sharing_rules.h). Nothing of it is run; what it has is hostile. That the other assemblies can be
// loaded is for who stores them (verify_stored_file.h). Blocks on the disk; any thread.
Verdict CheckApplication(const std::string& app, const DotnetRuntime& runtime);

}  // namespace cohost::supervisor
