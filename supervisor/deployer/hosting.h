// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "supervisor/config/deployment.h"
#include "supervisor/dotnet/framework_versions.h"
#include "supervisor/placement/placement.h"

namespace cohost::supervisor {

// How the workers of a service have it, as far as its files decide: of a native one nothing.
struct Hosting {
  Isolation isolation = Isolation::kShared;
  // Why it is solo though nobody wrote that; empty otherwise.
  std::string solo_because;
  // What a worker that it shares has to run; empty: not known, since there is no .NET.
  FrameworkVersions frameworks;
  // Where .NET's host of that worker looks (DOTNET_ROOT); empty: where the deployment's .NET is.
  std::string root;
  friend bool operator==(const Hosting&, const Hosting&) = default;
};

// The same for placement.
PlacementTraits TraitsOf(const Hosting& hosting);

}  // namespace cohost::supervisor
