// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "base/dotnet/hostfxr.h"
#include "base/dotnet/release_version.h"

namespace cohost::supervisor {

inline constexpr char kCoreFramework[] = "Microsoft.NETCore.App";
inline constexpr char kWebFramework[] = "Microsoft.AspNetCore.App";

// A .NET that is installed on this machine:
//   ROOT/host/fxr/VERSION/libhostfxr.so     starts it
//   ROOT/shared/NAME/VERSION/               a version of a framework
struct DotnetInstallation {
  std::string root;
  // By name. A version counts when it has NAME.deps.json, which an interrupted installation lacks.
  std::map<std::string, std::set<ReleaseVersion>> frameworks;

  std::string FolderOf(const std::string& framework, const ReleaseVersion& version) const;
};

// As FindDotnetHost.
absl::StatusOr<DotnetInstallation> FindDotnet(const DotnetPlaces& places);

}  // namespace cohost::supervisor
