// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "supervisor/dotnet/verdict.h"
#include "supervisor/modules/verify/cli_uses.h"

namespace cohost::supervisor {

// A use of the framework that matters for sharing a process.
struct SharingRule {
  // As CliUses has it. What begins with "System." and has a lower-case accessor is a property or an
  // event.
  std::string_view use;
  bool is_base = false;  // a type that one of the application's derives from or implements
  Finding::Weight weight = Finding::Weight::kWarning;
  std::string_view reason;
  std::string_view remedy;
};

// Measured with 190 public applications: what is not here is either harmless or made so by the
// shim.
std::span<const SharingRule> SharingRules();

// All uses that there are rules for.
const CliUses& WantedUses();

// Adds what these uses of one assembly mean.
void ApplySharingRules(std::string_view assembly, const CliUses& uses, Verdict& verdict);

}  // namespace cohost::supervisor
