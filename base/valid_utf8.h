// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cohost {

// `text` with U+FFFD in place of each byte that is no part of well-formed UTF-8: what a service
// prints or names must not spoil a message or a page of metrics.
std::string ValidUtf8(std::string_view text);

// The end of the longest part of well-formed `text` that has at most `most` bytes and does not end
// inside a character.
size_t CutBefore(std::string_view text, size_t most);

}  // namespace cohost
