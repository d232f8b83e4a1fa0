// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "supervisor/ctl/table.h"

// Values of answers as cells of a table. Pure functions.
namespace cohost::supervisor {

Cell CountCell(uint64_t count, Tone tone = Tone::kPlain);
// Nothing that is there has no bytes: it has not been measured yet.
Cell BytesCell(uint64_t bytes);
// Of what was measured: nothing is a figure too.
Cell MegabytesCell(uint64_t bytes);

// "steady-1/0".
std::string SlotName(const std::string& group, uint32_t slot);
// "1 restart", "2 restarts".
std::string Plural(uint64_t count, std::string_view word);
// Enough of a SHA-256 to tell it from others.
std::string ShortHash(const std::string& hash);

}  // namespace cohost::supervisor
