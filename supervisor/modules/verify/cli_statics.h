// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace cohost::supervisor {

// What of an assembly anybody may change for all who use the same copy of it: public static fields,
// setters and events of public types, and public static methods that put an argument into a static
// field. It is an alarm and no proof: registries, pools and caches behind methods that add to them
// are not seen.
struct CliStatics {
  // Each as a sentence's beginning, "Acme.Log.Logger can be set"; at most kMost of them.
  std::vector<std::string> mutable_members;
  // Names of native libraries that its methods are imported from.
  std::vector<std::string> native_libraries;

  static constexpr size_t kMost = 8;

  // The code of a method at that relative address of the file, without its header; empty when it
  // cannot be read.
  using ReadCode = std::function<std::string(uint32_t address)>;
  // From the whole metadata, root first (cli_metadata.h). No number is trusted; INVALID_ARGUMENT
  // saying what is wrong and what to do.
  static absl::StatusOr<CliStatics> Parse(std::string_view metadata, const ReadCode& read_code);
};

// Whether code (ECMA-335, III) stores an argument into a static field, as a setter does. What is no
// code ends the search.
bool StoresArgumentInStatic(std::string_view code);

}  // namespace cohost::supervisor
