// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "absl/time/time.h"
#include "google/protobuf/duration.pb.h"
#include "google/protobuf/timestamp.pb.h"

namespace cohost::worker {

// Durations and times of protobuf messages. What the sender left out of range is taken as far as
// it goes, never undefined.
absl::Duration FromProto(const google::protobuf::Duration& duration);
void ToProto(absl::Duration duration, google::protobuf::Duration& result);
void ToProto(absl::Time time, google::protobuf::Timestamp& result);

}  // namespace cohost::worker
