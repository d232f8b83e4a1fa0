// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "base/system/unique_fd.h"
#include "supervisor/dotnet/diagnostics/diagnostics_port.h"

namespace cohost::supervisor {

// Core dumps of workers. The runtime writes one as the worker's user, into a folder of its own
// below `parent`, which is made for it and removed again; what is handed over is a file without a
// name, so that it takes no room any longer than somebody reads it. The process stands still
// meanwhile. Blocks; at most `limit`.
absl::StatusOr<UniqueFd> TakeCoreDump(const DiagnosticsPort& port, DumpKind kind,
                                      const std::string& parent, absl::Duration limit,
                                      const Interrupt& interrupt);

// What a supervisor that died meanwhile has left in `parent`.
void RemoveLeftDumps(const std::string& parent);

}  // namespace cohost::supervisor
