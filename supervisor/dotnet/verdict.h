// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "supervisor/dotnet/framework_versions.h"

namespace cohost::supervisor {

// Whether an application may share its worker with others, from the best to the worst.
enum class Sharing {
  kShared,
  kSharedWithWarnings,
  kSolo,     // it runs, but only in a process of its own
  kRefused,  // it runs nowhere here
};

// "shared", "shared with warnings", "solo", "refused".
std::string_view SharingName(Sharing sharing);

// One thing that a check of an application found.
struct Finding {
  enum class Weight { kNote, kWarning, kSolo, kRefused };
  Weight weight = Weight::kNote;
  std::string reason;
  std::string remedy;  // what to do about it; may be empty
  friend bool operator==(const Finding&, const Finding&) = default;

  // Both in one line.
  std::string Text() const;
};

// What a check of an application without running it says.
struct Verdict {
  std::vector<Finding> findings;
  // What .NET's host of this machine gives it; lacks those that are not installed.
  FrameworkVersions frameworks;

  Sharing sharing() const;
  void Add(Finding::Weight weight, std::string reason, std::string remedy = "");
  // Those of that weight.
  std::vector<Finding> Of(Finding::Weight weight) const;
};

}  // namespace cohost::supervisor
