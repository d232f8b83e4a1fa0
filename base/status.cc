// SPDX-License-Identifier: Apache-2.0
#include "base/status.h"

#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "base/strings.h"

namespace cohost {

absl::Status ErrnoStatus(int error, std::string_view call, std::string_view object) {
  // std::generic_category is thread-safe, strerror is not.
  const std::string reason = std::generic_category().message(error);
  const std::string message = object.empty()
                                  ? absl::StrCat(AsAbsl(call), ": ", reason)
                                  : absl::StrCat(AsAbsl(call), " '", AsAbsl(object), "': ", reason);
  return absl::Status(absl::ErrnoToStatusCode(error), message);
}

absl::Status Annotate(const absl::Status& status, std::string_view context) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(AsAbsl(context), ": ", status.message()));
}

}  // namespace cohost
