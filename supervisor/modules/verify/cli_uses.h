// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace cohost::supervisor {

// Which of some names an assembly uses. A use is in its metadata when
// any of its methods has it, whether that ever runs or not; what is only called by reflection is
// not. Types inside of types are left out, and so are uses through generic types.
struct CliUses {
  // Methods and fields of types of other assemblies: "System.Environment.Exit". Accessors as they
  // are compiled: "System.AppDomain.add_UnhandledException".
  std::set<std::string, std::less<>> members;
  // Types of other assemblies that types of this one derive from or implement.
  std::set<std::string, std::less<>> bases;

  // What of `wanted` is in the whole metadata, root first (cli_metadata.h). No number is trusted;
  // INVALID_ARGUMENT saying what is wrong and what to do.
  static absl::StatusOr<CliUses> Parse(std::string_view metadata, const CliUses& wanted);
};

}  // namespace cohost::supervisor
