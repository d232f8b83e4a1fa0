// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "base/dotnet/release_version.h"
#include "supervisor/dotnet/deps_file.h"
#include "supervisor/dotnet/installation.h"

namespace cohost::supervisor {

struct WorkerFramework {
  ReleaseVersion version;
  std::map<std::string, AssetVersion> assemblies;  // as DepsFile::assemblies
};

// .NET as the workers of this host have it.
struct DotnetRuntime {
  DotnetInstallation installation;
  // By name: those that the managed shim was built for, in the version that .NET's host takes for
  // it. One process has one runtime, so every application in it gets these.
  std::map<std::string, WorkerFramework> frameworks;
};

// NOT_FOUND, saying what to install, when there is no .NET or it lacks a framework; other errors
// when one is damaged. Blocks on the disk.
absl::StatusOr<DotnetRuntime> FindDotnetRuntime(const DotnetPlaces& places);

}  // namespace cohost::supervisor
