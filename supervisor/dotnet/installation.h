// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "supervisor/dotnet/release_version.h"

namespace cohost::supervisor {

inline constexpr char kCoreFramework[] = "Microsoft.NETCore.App";
inline constexpr char kWebFramework[] = "Microsoft.AspNetCore.App";

// Where to look for .NET, the first that is there counts.
struct DotnetSearch {
  std::string configured{};   // host.dotnet.root; when it is said, nothing else is looked at
  std::string environment{};  // DOTNET_ROOT; empty: not set
  std::vector<std::string> usual = {"/usr/share/dotnet", "/usr/lib/dotnet"};
};

// A .NET that is installed on this machine:
//   ROOT/host/fxr/VERSION/libhostfxr.so     starts it
//   ROOT/shared/NAME/VERSION/               a version of a framework
struct DotnetInstallation {
  std::string root;
  // By name. A version counts when it has NAME.deps.json, which an interrupted installation lacks.
  std::map<std::string, std::set<ReleaseVersion>> frameworks;

  std::string FolderOf(const std::string& framework, const ReleaseVersion& version) const;
};

// NOT_FOUND, saying where it was looked for and what to install or to write, when there is none.
// Blocks on the disk.
absl::StatusOr<DotnetInstallation> FindDotnet(const DotnetSearch& search);

}  // namespace cohost::supervisor
