// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "google/protobuf/duration.pb.h"
#include "google/protobuf/timestamp.pb.h"

// Plain values as parts of messages. Pure functions.
namespace cohost::supervisor {

// A message with one text that is no UTF-8 is refused whole by its reader, and what comes from
// modules, files and the kernel can hold anything.
std::string Text(std::string_view text);

void Set(google::protobuf::Timestamp* message, absl::Time time);
void Set(google::protobuf::Duration* message, absl::Duration duration);
absl::Duration ToDuration(const google::protobuf::Duration& message);

}  // namespace cohost::supervisor
