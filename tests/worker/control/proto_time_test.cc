// SPDX-License-Identifier: Apache-2.0
#include "worker/control/proto_time.h"

#include <cstdint>

#include "gtest/gtest.h"

namespace cohost::worker {
namespace {

TEST(ProtoTime, KeepsNanoseconds) {
  const absl::Duration duration = absl::Seconds(3) + absl::Nanoseconds(7);
  google::protobuf::Duration proto;
  ToProto(duration, proto);
  EXPECT_EQ(proto.seconds(), 3);
  EXPECT_EQ(proto.nanos(), 7);
  EXPECT_EQ(FromProto(proto), duration);

  google::protobuf::Timestamp timestamp;
  ToProto(absl::UnixEpoch() + duration, timestamp);
  EXPECT_EQ(timestamp.seconds(), 3);
  EXPECT_EQ(timestamp.nanos(), 7);
}

TEST(ProtoTime, SaturatesAtWhatASenderMayWrite) {
  google::protobuf::Duration proto;
  proto.set_seconds(INT64_MAX);
  proto.set_nanos(INT32_MAX);
  EXPECT_GT(FromProto(proto), absl::Hours(24 * 365 * 1000));
  proto.set_seconds(INT64_MIN);
  proto.set_nanos(INT32_MIN);
  EXPECT_LT(FromProto(proto), absl::ZeroDuration());
}

}  // namespace
}  // namespace cohost::worker
