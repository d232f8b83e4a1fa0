// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "supervisor/config/deployment.h"

namespace cohost::supervisor {

// References in the values of settings:
//   ${env:NAME}         variable of the supervisor's environment
//   ${file:/path}       content of a file, one line end at its end removed; at most 64 KiB
//   ${credential:NAME}  file NAME of $CREDENTIALS_DIRECTORY (systemd's LoadCredential=)
//   $${                 the two characters ${
// They stand unresolved in the Deployment, in history and in exports.

// INVALID_ARGUMENT for a reference of another form. Messages never quote the value.
absl::Status CheckReferences(std::string_view value);

// The settings with every reference replaced, to be called just before they go to a worker. Fails
// with the setting's key and the reference that cannot be resolved, never with a value. Blocks on
// the disk.
absl::StatusOr<Settings> ResolveSecrets(const Settings& settings);

}  // namespace cohost::supervisor
