// SPDX-License-Identifier: Apache-2.0
#include "supervisor/admin/message_values.h"

#include <cstdint>

#include "base/valid_utf8.h"

namespace cohost::supervisor {

std::string Text(std::string_view text) { return ValidUtf8(text); }

void Set(google::protobuf::Timestamp* message, absl::Time time) {
  const int64_t nanoseconds = absl::ToUnixNanos(time);
  message->set_seconds(nanoseconds / 1'000'000'000);
  message->set_nanos(static_cast<int32_t>(nanoseconds % 1'000'000'000));
}

void Set(google::protobuf::Duration* message, absl::Duration duration) {
  const int64_t nanoseconds = absl::ToInt64Nanoseconds(duration);
  message->set_seconds(nanoseconds / 1'000'000'000);
  message->set_nanos(static_cast<int32_t>(nanoseconds % 1'000'000'000));
}

absl::Duration ToDuration(const google::protobuf::Duration& message) {
  return absl::Seconds(message.seconds()) + absl::Nanoseconds(message.nanos());
}

}  // namespace cohost::supervisor
