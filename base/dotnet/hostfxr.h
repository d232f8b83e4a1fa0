// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace cohost {

// Where .NET is looked for: in `configured` alone when it is not empty; otherwise in `environment`
// (DOTNET_ROOT) when it is not empty, then in each of `usual`. The first that is there counts.
struct DotnetPlaces {
  std::string configured{};  // host.dotnet.root
  std::string environment{};
  std::vector<std::string> usual = {"/usr/share/dotnet", "/usr/lib/dotnet"};
};

// A .NET on this machine, and what starts it.
struct DotnetHost {
  std::string root;
  // The newest ROOT/host/fxr/VERSION/libhostfxr.so, as the dotnet program takes it.
  std::string hostfxr;
};

// NOT_FOUND names every place that was looked at and what to install or to write. Blocks on the
// disk.
absl::StatusOr<DotnetHost> FindDotnetHost(const DotnetPlaces& places);

}  // namespace cohost
