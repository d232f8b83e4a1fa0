// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "worker/sdk/cohost.h"

namespace cohost {

// The host's table; set before any code of the module runs.
inline const cohost_host* host = nullptr;

inline cohost_string ToC(std::string_view text) { return {text.data(), text.size()}; }
inline std::string_view ToView(cohost_string text) { return {text.data, text.size}; }

}  // namespace cohost
