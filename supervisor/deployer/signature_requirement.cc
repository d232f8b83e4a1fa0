// SPDX-License-Identifier: Apache-2.0
#include "supervisor/deployer/signature_requirement.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "supervisor/deployer/pool_targets.h"

namespace cohost::supervisor {
namespace {

bool IsSigned(const std::set<std::string>& signers, const std::vector<std::string>& required) {
  return std::any_of(required.begin(), required.end(),
                     [&](const std::string& name) { return signers.contains(name); });
}

// What is known of the signatures of a file that nobody of those who should have signed it did.
std::string WhatThereIs(const UsedFile& file, const ContentSigners* signers) {
  if (signers == nullptr) return "nobody signed it";
  if (!signers->names.empty()) {
    return absl::StrCat("it is signed by ", absl::StrJoin(signers->names, ", "), " only");
  }
  const auto remark = signers->remarks.find(file.source);
  return remark == signers->remarks.end() || remark->second.empty() ? "nobody signed it"
                                                                    : remark->second;
}

}  // namespace

std::vector<ConfigProblem> CheckSignatures(const PreparedDeployment& prepared,
                                           const Placement& placement) {
  std::vector<ConfigProblem> problems;
  for (const PlacedGroup& group : placement.groups) {
    const std::vector<std::string>& required = PolicyOf(prepared, group).signatures_from;
    if (required.empty()) continue;
    for (const PlacedService& placed : group.services) {
      for (const UsedFile& file : FilesOf(prepared.services.at(placed.name))) {
        const auto found = prepared.signers.find(file.stored.hash);
        const ContentSigners* signers = found == prepared.signers.end() ? nullptr : &found->second;
        if (signers != nullptr && IsSigned(signers->names, required)) continue;
        ConfigProblem& problem = problems.emplace_back();
        problem.key_path = absl::StrCat("services.", placed.name, ".", file.key);
        problem.message =
            absl::StrCat("group '", group.name, "' requires a signature of '", file.source, "' by ",
                         absl::StrJoin(required, " or "), ": ", WhatThereIs(file, signers),
                         "; run `cohostctl modules sign --key ", required.front(), ".key ",
                         file.source, "` and reload");
      }
    }
  }
  return problems;
}

}  // namespace cohost::supervisor
