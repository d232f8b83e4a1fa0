// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <google/protobuf/message.h>

#include <string>

namespace cohost::supervisor {

// A message as JSON for programs: with the fields that have their default, on one line or many,
// ended by a line break.
std::string Json(const google::protobuf::Message& message, bool many_lines);

}  // namespace cohost::supervisor
