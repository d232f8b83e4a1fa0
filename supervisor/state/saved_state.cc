// SPDX-License-Identifier: Apache-2.0
#include "supervisor/state/saved_state.h"

namespace cohost::supervisor {

namespace {

constexpr ChangeAction kActions[] = {ChangeAction::kStart, ChangeAction::kReload,
                                     ChangeAction::kDeploy, ChangeAction::kRollback,
                                     ChangeAction::kImport};

}  // namespace

std::string_view Name(ChangeAction action) {
  switch (action) {
    case ChangeAction::kStart:
      return "start";
    case ChangeAction::kReload:
      return "reload";
    case ChangeAction::kDeploy:
      return "deploy";
    case ChangeAction::kRollback:
      return "rollback";
    case ChangeAction::kImport:
      return "import";
  }
  return "";
}

std::optional<ChangeAction> ParseChangeAction(std::string_view name) {
  for (const ChangeAction action : kActions) {
    if (name == Name(action)) return action;
  }
  return std::nullopt;
}

}  // namespace cohost::supervisor
