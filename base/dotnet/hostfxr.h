// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace cohost::worker::dotnet {

// Where .NET is looked for, in this order: `configured` alone when it is not empty; otherwise
// `environment` (DOTNET_ROOT) when it is not empty, then each of `usual`.
struct DotnetPlaces {
  std::string configured{};
  std::string environment{};
  std::vector<std::string> usual = {"/usr/share/dotnet", "/usr/lib/dotnet"};
};

// Finds the newest ROOT/host/fxr/VERSION/libhostfxr.so; of an installation the highest version, as
// the dotnet program does. NOT_FOUND names every place that was looked at and what to install.
absl::StatusOr<std::string> FindHostfxr(const DotnetPlaces& places);

}  // namespace cohost::worker::dotnet
