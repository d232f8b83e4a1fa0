// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace cohost::supervisor {

// Names libraries that may be shared, as a deployment writes them:
//
//   Acme.Core        the assembly of that name, in versions that have no alarm
//   Acme.*           all whose names begin so
//   Serilog/4.3      of package version 4.3, or any 4.3.x, whatever the alarm says
//
// Upper and lower case of names are the same, as for .NET.
struct LibraryName {
  std::string name;       // without the '*'
  bool is_begin = false;  // had one
  std::string version;    // empty: not said

  // INVALID_ARGUMENT when it is none.
  static absl::StatusOr<LibraryName> Parse(std::string_view text);

  bool Names(std::string_view assembly) const;
  // Whether it says that this version was read. An unknown (empty) one is none.
  bool Answers(std::string_view package_version) const;
};

}  // namespace cohost::supervisor
