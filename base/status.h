// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace cohost {

// The status of a failed system call: `open '/x/y': Permission denied`. `object` may be empty. The
// code follows errno (ENOENT is NOT_FOUND, EACCES PERMISSION_DENIED, EMFILE RESOURCE_EXHAUSTED,
// ...).
absl::Status ErrnoStatus(int error, std::string_view call, std::string_view object);

// The same status with `context: ` in front of its message; OK stays OK.
absl::Status Annotate(const absl::Status& status, std::string_view context);

}  // namespace cohost

#define COHOST_CONCAT_INNER_(a, b) a##b
#define COHOST_CONCAT_(a, b) COHOST_CONCAT_INNER_(a, b)

// Returns from the calling function when `expression`, an absl::Status, is not OK.
#define COHOST_RETURN_IF_ERROR(expression)                                                       \
  do {                                                                                           \
    if (absl::Status cohost_status_ = (expression); !cohost_status_.ok()) return cohost_status_; \
  } while (false)

// `COHOST_ASSIGN_OR_RETURN(auto x, F());` where F returns absl::StatusOr.
#define COHOST_ASSIGN_OR_RETURN(declaration, expression) \
  COHOST_ASSIGN_OR_RETURN_(COHOST_CONCAT_(cohost_result_, __LINE__), declaration, expression)
#define COHOST_ASSIGN_OR_RETURN_(result, declaration, expression) \
  auto result = (expression);                                     \
  if (!result.ok()) return result.status();                       \
  declaration = *std::move(result)
