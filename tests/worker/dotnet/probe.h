// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "tests/worker/dotnet/applications.h"

namespace cohost::testing {

// Asks applications what their probe.txt says, all at the same time, by the program Probe of
// //tests/worker/dotnet/apps. The addresses are by the applications' names, and so are their
// answers, in a form that two runs have in common.
absl::StatusOr<std::map<std::string, std::string>> ProbeAll(const Addresses& addresses);

}  // namespace cohost::testing
