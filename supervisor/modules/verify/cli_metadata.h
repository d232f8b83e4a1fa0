// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace cohost::supervisor {

// The version of an assembly: 10.0.0.0.
struct AssemblyVersion {
  uint16_t major = 0;
  uint16_t minor = 0;
  uint16_t build = 0;
  uint16_t revision = 0;
  std::string ToString() const;
  auto operator<=>(const AssemblyVersion&) const = default;
};

struct AssemblyName {
  std::string name;
  AssemblyVersion version;
  friend bool operator==(const AssemblyName&, const AssemblyName&) = default;
};

// What the metadata of a CLI file (ECMA-335, partition II.24) says of names: its own and those of
// the assemblies that it uses.
//
//   root: "BSJB", ..., at 12 the length of the version, the version (multiple of 4), 2 flags, 2
//   number of streams, per stream 4 offset, 4 size, name (multiple of 4, at most 32)
//   stream "#~": ..., at 6 sizes of heap indexes, at 8 a bit for each table that is there, at 24
//   the number of rows of each of these, then their rows, table by table
// Rows have no length of their own: it follows from the numbers of rows of all tables and the sizes
// of the heaps, so that those of all tables before the wanted ones have to be known (RowSize).
struct CliMetadata {
  std::string version;        // of the runtime that it was written for: "v4.0.30319"
  bool has_assembly = false;  // else it is a module of another assembly
  AssemblyName assembly;
  std::vector<AssemblyName> references;

  // From the whole metadata, root first. No number is trusted; INVALID_ARGUMENT saying what is
  // wrong and what to do.
  static absl::StatusOr<CliMetadata> Parse(std::string_view metadata);
};

}  // namespace cohost::supervisor
