// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "absl/time/time.h"
#include "google/protobuf/duration.pb.h"

namespace cohost::supervisor {

// Into a request.
inline void SetDuration(absl::Duration duration, google::protobuf::Duration* message) {
  const int64_t nanoseconds = absl::ToInt64Nanoseconds(duration);
  message->set_seconds(nanoseconds / 1'000'000'000);
  message->set_nanos(static_cast<int32_t>(nanoseconds % 1'000'000'000));
}

}  // namespace cohost::supervisor
