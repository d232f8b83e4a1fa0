// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/units.h"
#include "boost/json/value.hpp"

// The JSON files that .NET writes beside an application.
namespace cohost::supervisor {

// With comments, as .NET reads them. INVALID_ARGUMENT when it is no JSON object, or nested deeper
// than any such file.
absl::StatusOr<boost::json::object> ParseJsonObject(std::string_view text);

// The same from a file; errors name it. NOT_FOUND when there is none, RESOURCE_EXHAUSTED when it is
// larger than `limit`. Blocks on the disk.
absl::StatusOr<boost::json::object> ReadJsonObject(const std::string& path, Bytes limit);

// Members; null when they are absent or of another type.
const boost::json::object* ObjectIn(const boost::json::object& object, std::string_view name);
const boost::json::array* ArrayIn(const boost::json::object& object, std::string_view name);
// Empty when absent or no text.
std::string TextIn(const boost::json::object& object, std::string_view name);

}  // namespace cohost::supervisor
