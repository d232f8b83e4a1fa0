// SPDX-License-Identifier: Apache-2.0
#include "supervisor/ctl/json_text.h"

#include <google/protobuf/util/json_util.h>

#include "absl/strings/str_cat.h"

namespace cohost::supervisor {

std::string Json(const google::protobuf::Message& message, bool many_lines) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = many_lines;
  options.always_print_primitive_fields = true;
  std::string text;
  const auto status = google::protobuf::util::MessageToJsonString(message, &text, options);
  if (!status.ok()) return absl::StrCat("{\"error\":\"", status.message().ToString(), "\"}\n");
  return many_lines ? text : text + "\n";
}

}  // namespace cohost::supervisor
