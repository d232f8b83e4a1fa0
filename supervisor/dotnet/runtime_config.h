// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/dotnet/release_version.h"
#include "supervisor/dotnet/framework_versions.h"
#include "supervisor/dotnet/installation.h"

namespace cohost::supervisor {

// Which other version of a framework an application takes when that of its own is not there.
enum class RollForward {
  kDisable,      // none
  kLatestPatch,  // the latest patch of the same major.minor
  kMinor,        // of the next minor version that is there; the default
  kLatestMinor,  // of the latest one
  kMajor,        // of the next version that is there
  kLatestMajor,  // of the latest one
};

// A framework that an application needs.
struct FrameworkReference {
  std::string name;
  ReleaseVersion version;
  RollForward roll_forward = RollForward::kMinor;

  // The installed version that .NET's host takes; previews only for who asks for one, or when there
  // is nothing else. Nothing: none will do.
  std::optional<ReleaseVersion> Resolve(const std::set<ReleaseVersion>& installed) const;
};

// APP.runtimeconfig.json: what an application needs of the runtime.
//
//   {"runtimeOptions": {
//     "rollForward": "Minor", "framework": {"name": ..., "version": ..., "rollForward": ...},
//     "frameworks": [{...}], "includedFrameworks": [...], "configProperties": {"NAME": value}}}
//
// Other members are left alone; a value of a wrong type is an error where it decides something.
struct RuntimeConfig {
  std::vector<FrameworkReference> frameworks;
  // Brings its own runtime (includedFrameworks).
  bool is_self_contained = false;
  // Values as JSON text: "true", "\"text\"".
  std::map<std::string, std::string> properties;

  // INVALID_ARGUMENT saying what is wrong.
  static absl::StatusOr<RuntimeConfig> Parse(std::string_view text);
  // NOT_FOUND when there is no such file. Blocks on the disk.
  static absl::StatusOr<RuntimeConfig> Read(const std::string& path);

  // Null when it needs no such framework.
  const FrameworkReference* Find(std::string_view framework) const;
};

// What .NET's host gives an application; lacks what is not installed.
FrameworkVersions ResolveFrameworks(const RuntimeConfig& config, const DotnetInstallation& dotnet);

}  // namespace cohost::supervisor
