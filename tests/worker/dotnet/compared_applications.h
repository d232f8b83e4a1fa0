// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/worker/dotnet/applications.h"

namespace cohost::testing {

// Those whose answers are compared: one of every kind.
const std::vector<Application>& ComparedApplications();

// What they answer when `dotnet NAME.dll` runs each, as Probe tells it, by name.
absl::StatusOr<std::map<std::string, std::string>> AskLoneApplications();

}  // namespace cohost::testing
