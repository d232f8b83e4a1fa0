// SPDX-License-Identifier: Apache-2.0
#include "supervisor/dotnet/framework_versions.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace cohost::supervisor {

std::string FrameworkText(const FrameworkVersions& versions) {
  if (versions.empty()) return "";
  const ReleaseVersion& first = versions.begin()->second;
  if (std::all_of(versions.begin(), versions.end(),
                  [&](const auto& each) { return each.second == first; })) {
    return first.ToString();
  }
  std::string text;
  for (const auto& [name, version] : versions) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", name, " ", version.ToString());
  }
  return text;
}

}  // namespace cohost::supervisor
