// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "supervisor/modules/verify/cli_metadata.h"
#include "supervisor/modules/verify/cli_statics.h"
#include "supervisor/modules/verify/cli_uses.h"

namespace cohost::supervisor {

// A version of .NET as workers run it.
struct FrameworkVersion {
  uint16_t major = 0;  // 10.0
  uint16_t minor = 0;
  // The major version of precompiled code that its runtime reads (AssemblyInfo of its
  // System.Private.CoreLib); none: not known.
  std::optional<uint16_t> ready_to_run_major;
};

// What an assembly says of itself.
struct AssemblyInfo {
  AssemblyName name;
  std::vector<AssemblyName> references;
  std::string runtime_version;  // that its metadata was written for: "v4.0.30319"
  // Precompiled code (ReadyToRun) and the version of its format.
  bool is_ready_to_run = false;
  uint16_t ready_to_run_major = 0;
  uint16_t ready_to_run_minor = 0;

  // The version of the framework that it was compiled against (its reference to System.Runtime or
  // System.Private.CoreLib); none: it uses only what every version has (.NET Standard, .NET
  // Framework).
  std::optional<AssemblyVersion> Framework() const;
};

// Reads an open .NET assembly and checks that the runtime of this machine would load it: whole,
// CLI only (no mixed or native code), for any machine or this one, precompiled for Linux on it
// or not at all, no part of a composite image (its code would be used by the first application
// alone). Read with pread(2); no number of the file is trusted. INVALID_ARGUMENT saying what is
// wrong and what to do.
absl::StatusOr<AssemblyInfo> ReadAssembly(int fd);

// What of `wanted` an open assembly uses. Errors as ReadAssembly, of which only what is needed for
// it is checked.
absl::StatusOr<CliUses> ReadUses(int fd, const CliUses& wanted);

// What of an open assembly is one for all who use the same copy. Errors as ReadUses.
absl::StatusOr<CliStatics> ReadStatics(int fd);

// INVALID_ARGUMENT when the assembly needs a newer framework than this one.
absl::Status CheckFramework(const AssemblyInfo& assembly, const FrameworkVersion& framework);

// What may hurt though it is allowed, one line each.
std::vector<std::string> AssemblyWarnings(const AssemblyInfo& assembly,
                                          const FrameworkVersion& framework);

// ReadAssembly, then CheckFramework.
absl::StatusOr<AssemblyInfo> CheckAssembly(int fd, const FrameworkVersion& framework);

}  // namespace cohost::supervisor
