// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "supervisor/snapshot.h"

namespace cohost::supervisor {

// The worker whose .NET runtime is asked when somebody names a service, of the snapshot: one that
// serves before one that starts. NOT_FOUND for an unknown service or a slot that does not run it,
// INVALID_ARGUMENT when there are several and none was named, FAILED_PRECONDITION when it is not
// dotnet, runs nowhere, or its runtime takes no diagnostics. Pure.
absl::StatusOr<const WorkerView*> FindDiagnosedWorker(const HostSnapshot& snapshot,
                                                      const std::string& service,
                                                      std::optional<uint32_t> slot);

}  // namespace cohost::supervisor
