// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cohost::supervisor {

// A place in a text that cannot be YAML, and why.
struct TextFault {
  int line = 1;
  int column = 1;
  std::string message;
};

// The first NUL or other control character, broken UTF-8 sequence or misplaced byte order mark.
// yaml-cpp would guess another encoding or cut the text there.
std::optional<TextFault> CheckText(std::string_view text);

// Whether all of it is well-formed.
bool IsUtf8(std::string_view text);

// True for the control characters that may not stand in a line of text.
bool IsControl(char c);

}  // namespace cohost::supervisor
