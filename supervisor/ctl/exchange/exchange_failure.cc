// SPDX-License-Identifier: Apache-2.0
#include "supervisor/ctl/exchange/exchange_failure.h"

#include <string>

namespace cohost::supervisor {

Failure LocalFailure(const absl::Status& status) {
  const bool system = absl::IsResourceExhausted(status) || absl::IsInternal(status) ||
                      absl::IsUnknown(status) || absl::IsUnavailable(status);
  return {system ? ExitCode::kNoHost : ExitCode::kWrongCall, std::string(status.message())};
}

int Fail(const Failure& failure, std::ostream& errors) {
  errors << "cohostctl: " << failure.message << "\n";
  return static_cast<int>(failure.code);
}

}  // namespace cohost::supervisor
