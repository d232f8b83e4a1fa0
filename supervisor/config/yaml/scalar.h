// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "supervisor/config/yaml/yaml_tree.h"

// What the text of a scalar means where a value of a certain kind is expected. Strict on purpose:
// YAML 1.1 and 1.2, and their libraries, disagree about `on`, `0755` and `1:30`, so only what every
// reader understands alike is taken, and the message says what to write instead.
namespace cohost::supervisor {

// Unquoted `true` or `false`.
absl::StatusOr<bool> ScalarToBoolean(const YamlNode& node);

// Unquoted decimal digits with at most a minus sign.
absl::StatusOr<int64_t> ScalarToInteger(const YamlNode& node);

// Unquoted decimal digits, with or without a fraction.
absl::StatusOr<double> ScalarToNumber(const YamlNode& node);

// File mode bits, quoted octal: "0660".
absl::StatusOr<mode_t> ScalarToMode(const YamlNode& node);

// [A-Za-z0-9_][A-Za-z0-9_.-]{0,62}
absl::Status CheckName(std::string_view text);

// `text` in quotes for a message: cut when long, control characters replaced.
std::string Quoted(std::string_view text);

}  // namespace cohost::supervisor
