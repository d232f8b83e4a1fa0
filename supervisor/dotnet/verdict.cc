// SPDX-License-Identifier: Apache-2.0
#include "supervisor/dotnet/verdict.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace cohost::supervisor {

std::string_view SharingName(Sharing sharing) {
  switch (sharing) {
    case Sharing::kShared:
      return "shared";
    case Sharing::kSharedWithWarnings:
      return "shared with warnings";
    case Sharing::kSolo:
      return "solo";
    case Sharing::kRefused:
      return "refused";
  }
  return "";
}

std::string Finding::Text() const {
  return remedy.empty() ? reason : absl::StrCat(reason, "; ", remedy);
}

Sharing Verdict::sharing() const {
  const auto has = [this](Finding::Weight weight) {
    return std::any_of(findings.begin(), findings.end(),
                       [weight](const Finding& finding) { return finding.weight == weight; });
  };
  if (has(Finding::Weight::kRefused)) return Sharing::kRefused;
  if (has(Finding::Weight::kSolo)) return Sharing::kSolo;
  return has(Finding::Weight::kWarning) ? Sharing::kSharedWithWarnings : Sharing::kShared;
}

void Verdict::Add(Finding::Weight weight, std::string reason, std::string remedy) {
  findings.push_back({weight, std::move(reason), std::move(remedy)});
}

std::vector<Finding> Verdict::Of(Finding::Weight weight) const {
  std::vector<Finding> found;
  std::copy_if(findings.begin(), findings.end(), std::back_inserter(found),
               [weight](const Finding& finding) { return finding.weight == weight; });
  return found;
}

}  // namespace cohost::supervisor
