// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

// The texts in an archive are lines of fields with one blank between them. In a field, bytes up to
// the blank, '%' and DEL are written %XX, upper-case hexadecimal; an empty one is "%". Pure.
namespace cohost::supervisor {

std::string EscapeField(std::string_view text);
// INVALID_ARGUMENT for what EscapeField does not write.
absl::StatusOr<std::string> UnescapeField(std::string_view field);

// The fields of a line, without its line end.
std::vector<std::string_view> SplitFields(std::string_view line);

// Takes the next line out of `text`, without its line end. INVALID_ARGUMENT when there is none, or
// none that is whole.
absl::StatusOr<std::string_view> TakeLine(std::string_view& text);

// A decimal number as it is written: no sign, no zeros before it. INVALID_ARGUMENT otherwise.
absl::StatusOr<uint64_t> ParseNumber(std::string_view field);

std::string HashOf(std::string_view text);

}  // namespace cohost::supervisor
