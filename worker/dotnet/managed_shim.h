// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "worker/dotnet/boundary.h"

namespace cohost::worker::dotnet {

// Loads CoreCLR into this process, with the shim's framework and dependencies as its default load
// context, and exchanges the tables. Once per process, whatever it comes to: CoreCLR can be neither
// started twice nor unloaded. Blocks for about 80 ms; any thread, whose identity does not matter
// afterwards. `host` stays valid until the process ends. The errors name the step, hostfxr's code
// for it and what to do.
absl::StatusOr<ManagedTable> StartShim(const std::string& hostfxr, const std::string& shim,
                                       const HostTable& host);

}  // namespace cohost::worker::dotnet
