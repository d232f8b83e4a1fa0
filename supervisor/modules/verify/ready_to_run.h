// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "supervisor/modules/verify/pe_file.h"

namespace cohost::supervisor {

// The header of code that was compiled before the start (ReadyToRun), which the field
// ManagedNativeHeader of a CLI header names:
//
//   "RTR\0", major version 2, minor version 2, flags 4, number of sections 4, then per section
//   type 4, address 4, size 4, sorted by type
//
// The runtime ignores the code of another major version and compiles again; it refuses a file whose
// machine is not its own.
struct ReadyToRunHeader {
  // Of the flags: the code is in another, composite file.
  static constexpr uint32_t kComponent = 0x20;
  // Types of sections: of a composite file, and of those whose code is in one. (No flag tells a
  // composite file: the one that the format's description gives it, 2, means something else in
  // what compilers write.)
  static constexpr uint32_t kComponentAssemblies = 115;
  static constexpr uint32_t kOwnerComposite = 116;

  uint16_t major = 0;
  uint16_t minor = 0;
  uint32_t flags = 0;
  bool is_composite = false;  // it has code of other assemblies, or others have its code

  // Also checks that every section lies inside of the file. INVALID_ARGUMENT saying what is wrong
  // and what to do.
  static absl::StatusOr<ReadyToRunHeader> Read(const PeFile& file, PeRange range);
};

}  // namespace cohost::supervisor
