// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "google/protobuf/timestamp.pb.h"

// Quantities as people read them.
namespace cohost::supervisor {

// `1,234,570`.
std::string FormatCount(uint64_t count);
// Two digits and the largest unit that fits: `500 us`, `1.2 ms`, `63 ms`, `2.4 s`, `3m 5s`.
std::string FormatSpan(absl::Duration duration);
// How long ago, at most two units: `42s`, `3m`, `3h 12m`, `5d 2h`; empty for an unset time.
std::string FormatAge(const google::protobuf::Timestamp& time, absl::Time now);
// Local time, `2026-01-02 03:04:05`; empty for an unset time.
std::string FormatTime(const google::protobuf::Timestamp& time);

absl::Time ToTime(const google::protobuf::Timestamp& time);

}  // namespace cohost::supervisor
