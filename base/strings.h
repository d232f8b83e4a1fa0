// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "absl/strings/string_view.h"

namespace cohost {

// Debian builds Abseil with a string_view of its own that does not convert to or from the standard
// one. Our interfaces use the standard type; these two cross over where Abseil is called.
inline absl::string_view AsAbsl(std::string_view text) { return {text.data(), text.size()}; }
inline std::string_view AsStd(absl::string_view text) { return {text.data(), text.size()}; }

}  // namespace cohost
