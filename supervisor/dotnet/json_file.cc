// SPDX-License-Identifier: Apache-2.0
#include "supervisor/dotnet/json_file.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/system/file.h"
#include "boost/json/parse.hpp"

namespace cohost::supervisor {
namespace {

// Ours are four levels deep.
constexpr size_t kDeepest = 32;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

const boost::json::value* Member(const boost::json::object& object, std::string_view name) {
  return object.if_contains({name.data(), name.size()});
}

}  // namespace

absl::StatusOr<boost::json::object> ParseJsonObject(std::string_view text) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  boost::json::parse_options options;
  options.allow_comments = true;
  options.allow_trailing_commas = true;
  options.max_depth = kDeepest;
  boost::json::error_code error;
  boost::json::value value =
      boost::json::parse({text.data(), text.size()}, error, boost::json::storage_ptr(), options);
  if (error) return absl::InvalidArgumentError(absl::StrCat("it is no JSON: ", error.message()));
  if (!value.is_object()) return absl::InvalidArgumentError("it is no JSON object");
  return std::move(value.get_object());
}

absl::StatusOr<boost::json::object> ReadJsonObject(const std::string& path, Bytes limit) {
  COHOST_ASSIGN_OR_RETURN(const std::string text, ReadRegularFile(path, limit));
  absl::StatusOr<boost::json::object> object = ParseJsonObject(text);
  if (object.ok()) return object;
  return Annotate(object.status(), absl::StrCat("'", path, "'"));
}

const boost::json::object* ObjectIn(const boost::json::object& object, std::string_view name) {
  const boost::json::value* value = Member(object, name);
  return value == nullptr ? nullptr : value->if_object();
}

const boost::json::array* ArrayIn(const boost::json::object& object, std::string_view name) {
  const boost::json::value* value = Member(object, name);
  return value == nullptr ? nullptr : value->if_array();
}

std::string TextIn(const boost::json::object& object, std::string_view name) {
  const boost::json::value* value = Member(object, name);
  const boost::json::string* text = value == nullptr ? nullptr : value->if_string();
  return text == nullptr ? "" : std::string(text->data(), text->size());
}

}  // namespace cohost::supervisor
