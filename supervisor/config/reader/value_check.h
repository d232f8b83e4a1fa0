// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/units.h"
#include "supervisor/config/keys/key_table.h"
#include "supervisor/config/reader/read_context.h"
#include "supervisor/config/yaml/yaml_tree.h"

// The values of scalars as their key demands: type, unit and range. A message says what is allowed.
namespace cohost::supervisor {

absl::StatusOr<int64_t> CheckedInteger(const Key& key, const YamlNode& node);
absl::StatusOr<double> CheckedNumber(const Key& key, const YamlNode& node);
absl::StatusOr<Bytes> CheckedBytes(const Key& key, const YamlNode& node);
absl::StatusOr<absl::Duration> CheckedDuration(const Key& key, const YamlNode& node);

// Every type that stays text. Paths become absolute, relative ones below `folder`; files, users and
// groups of users must exist.
absl::StatusOr<std::string> CheckedText(const Key& key, const YamlNode& node,
                                        const std::string& folder, ReadContext& context);

// What an absolute path has to be to stand in a deployment: text of one line, and not too long. A
// relative one can get something else from its folder.
absl::Status CheckPath(std::string_view path);

absl::Status CheckChoice(const Key& key, const YamlNode& node);

// "a list", "a map", "text", "nothing": what stands there instead.
std::string_view DescribeKind(const YamlNode& node);

// `path` as it is when absolute, else below `folder`; without "." parts and doubled slashes. ".."
// stays, since the folder before it may be a link.
std::string ResolvePath(const std::string& folder, std::string_view path);

}  // namespace cohost::supervisor
