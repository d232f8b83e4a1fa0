// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "supervisor/config/deployment.h"

namespace cohost::supervisor {

// "latency", "steady", ...
std::string_view LoadClassName(LoadClass load_class);

// The opposite, for a text that is one of the key table's choices.
LoadClass LoadClassOf(std::string_view text);

}  // namespace cohost::supervisor
