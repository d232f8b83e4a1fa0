// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "supervisor/admin/host_control.h"
#include "supervisor/config/deployment.h"
#include "supervisor/deployer/hosting.h"
#include "supervisor/dotnet/worker_frameworks.h"

namespace cohost::supervisor {

// .NET as host.dotnet.root, DOTNET_ROOT or its usual places have it. Blocks on the disk.
absl::StatusOr<DotnetRuntime> FindDotnetOf(const Host& host);
// That there is none, once for all services that need it, of which one is named.
ConfigProblem MissingDotnet(const absl::Status& status, const std::string& service);

// What the check of an application means for its service.
struct ServiceVerdict {
  std::vector<ConfigProblem> problems;  // not empty: the service cannot run as it is
  std::vector<std::string> remarks;
  Hosting hosting;  // but its root
};

// Of a dotnet service whose main assembly is at `app`: refused when it runs nowhere here; alone in
// a worker when it needs that or `isolation` says so, unless `isolation` says that it is shared all
// the same. Blocks on the disk.
ServiceVerdict JudgeService(const Service& service, const std::string& app,
                            const DotnetRuntime& runtime);

}  // namespace cohost::supervisor
