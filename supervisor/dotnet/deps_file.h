// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace cohost::supervisor {

// What a .deps.json says of one assembly.
struct AssetVersion {
  std::array<uint32_t, 4> assembly{};  // 10.0.0.0; zero: not said
  std::array<uint32_t, 4> file{};
  // .NET's host compares like this which of two assemblies of one name is newer.
  auto operator<=>(const AssetVersion&) const = default;
};

// NAME.deps.json of an application or of a framework: which assemblies are there and what for.
//
//   {"runtimeTarget": {"name": TARGET}, "targets": {TARGET: {"LIBRARY/VERSION": {
//     "runtime": {"lib/net10.0/X.dll": {"assemblyVersion": ..., "fileVersion": ...}}}}},
//    "libraries": {"LIBRARY/VERSION": {"type": "project"}}}
struct DepsFile {
  // Names of files that were built with the application, not taken from packages.
  std::vector<std::string> own;
  // All managed assemblies for any machine, by the name of the file.
  std::map<std::string, AssetVersion> assemblies;
  // By the name of the file, of which package it is: the VERSION of "LIBRARY/VERSION".
  std::map<std::string, std::string> package_versions;

  // INVALID_ARGUMENT when it is no such file.
  static absl::StatusOr<DepsFile> Parse(std::string_view text);
  // NOT_FOUND when there is none. Blocks on the disk.
  static absl::StatusOr<DepsFile> Read(const std::string& path);
};

}  // namespace cohost::supervisor
