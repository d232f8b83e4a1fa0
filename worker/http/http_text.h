// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace cohost::worker {

// The grammar of RFC 9110 and 9112 as far as it is ours to check. Pure functions.

// 1*tchar: a field name or a method.
bool IsToken(std::string_view text);
// Visible characters, obs-text, space and tab: no CR, LF, NUL or other control.
bool IsFieldValue(std::string_view text);
// uri-host [":" port] as a Host value; empty is allowed (RFC 9112 3.2).
bool IsHost(std::string_view text);
// ASCII letters without regard to case.
bool EqualsIgnoringCase(std::string_view a, std::string_view b);
bool ContainsIgnoringCase(std::string_view text, std::string_view lower_case_part);
// "/..." of visible ASCII without "#".
bool IsOriginForm(std::string_view target);
// A response field that only the host may set: framing, connection and Date.
bool IsHostField(std::string_view name);

}  // namespace cohost::worker
