// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "supervisor/dotnet/framework_versions.h"
#include "supervisor/dotnet/installation.h"

namespace cohost::supervisor {

// A folder that looks like an installation with one version of each framework, made of links to
// where they are installed: to a worker that has it as DOTNET_ROOT, .NET's host gives these and no
// others, whatever else the machine has.
//
//   FOLDER/VERSION-NUMBER/host -> ROOT/host
//   FOLDER/VERSION-NUMBER/shared/NAME/VERSION -> ROOT/shared/NAME/VERSION
//
// The number is of what the links lead to, so that a view never changes: workers open files through
// it as long as they live. One that is there is taken as it is. Returns its path. Blocks on the
// disk; any thread, one at a time for a folder.
absl::StatusOr<std::string> MakeFrameworkView(const DotnetInstallation& installation,
                                              const FrameworkVersions& versions,
                                              const std::string& folder);

}  // namespace cohost::supervisor
