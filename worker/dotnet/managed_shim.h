// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "worker/dotnet/boundary.h"

namespace cohost::worker::dotnet {

// Loads CoreCLR into this process and exchanges the tables. Without `application` the default load
// context is the shim's: its framework, and nothing else. With one, the main assembly of an
// application that has the process for itself, it is the application's, as with `dotnet App.dll`,
// and the shim lives in a load context of its own. Once per process, whatever it comes to: CoreCLR
// can be neither started twice nor unloaded. Blocks for about 80 ms; any thread, whose identity
// does not matter afterwards. `host` stays valid until the process ends. The runtime makes its
// diagnostics socket in `diagnostics_folder`; empty: in that of temporary files. The errors name
// the step, hostfxr's code for it and what to do.
absl::StatusOr<ManagedTable> StartShim(const std::string& hostfxr, const std::string& shim,
                                       const HostTable& host, const std::string& application = "",
                                       const std::string& diagnostics_folder = "");

}  // namespace cohost::worker::dotnet
