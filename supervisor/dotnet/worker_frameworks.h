// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "base/dotnet/release_version.h"
#include "supervisor/dotnet/deps_file.h"
#include "supervisor/dotnet/framework_versions.h"
#include "supervisor/dotnet/installation.h"

namespace cohost::supervisor {

// As worker/dotnet/managed is built (TargetFramework net10.0; it takes later ones too).
inline constexpr uint32_t kShimMajor = 10;

struct WorkerFramework {
  ReleaseVersion version;
  std::map<std::string, AssetVersion> assemblies;  // as DepsFile::assemblies
};

// .NET as the workers of this host have it.
struct DotnetRuntime {
  DotnetInstallation installation;
  // By name: those that the managed shim was built for, in the version that .NET's host takes for
  // it. Workers have these unless their applications need other ones.
  std::map<std::string, WorkerFramework> frameworks;

  // Versions of the above.
  FrameworkVersions Usual() const;
};

// A version that is installed. Blocks on the disk.
absl::StatusOr<WorkerFramework> ReadFramework(const DotnetInstallation& installation,
                                              const std::string& name,
                                              const ReleaseVersion& version);

// NOT_FOUND, saying what to install, when there is no .NET or it lacks a framework; other errors
// when one is damaged. Blocks on the disk.
absl::StatusOr<DotnetRuntime> FindDotnetRuntime(const DotnetPlaces& places);

}  // namespace cohost::supervisor
