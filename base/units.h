// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace cohost {

// A number of bytes.
struct Bytes {
  uint64_t count = 0;
  auto operator<=>(const Bytes&) const = default;
};
constexpr Bytes KiB(uint64_t n) { return {n << 10}; }
constexpr Bytes MiB(uint64_t n) { return {n << 20}; }
constexpr Bytes GiB(uint64_t n) { return {n << 30}; }

// `4096`, `64Ki`, `256Mi`, `2Gi`, `1Ti`: a whole number with a binary unit. `K`, `M`, `MB` and
// fractions are refused (with the unit that was probably meant), since two meanings are in use for
// them.
absl::StatusOr<Bytes> ParseBytes(std::string_view text);
// The largest unit that divides it: `256Mi`, `1000`.
std::string FormatBytes(Bytes bytes);
// For people, three digits: `0.42 MB` (10^6).
std::string FormatMegabytes(Bytes bytes);

// `250us`, `10ms`, `30s`, `5m`, `29h`, `7d`, also `1h30m`; a number without unit is refused except
// `0`. No negative.
absl::StatusOr<absl::Duration> ParseDuration(std::string_view text);
// The form that ParseDuration reads. Call it qualified: Abseil has a FormatDuration too, which
// argument-dependent lookup finds.
std::string FormatDuration(absl::Duration duration);

// A time of day in minutes, 0 to 1439.
struct TimeOfDay {
  int minutes = 0;
  auto operator<=>(const TimeOfDay&) const = default;
};
// `HH:MM`, both two digits.
absl::StatusOr<TimeOfDay> ParseTimeOfDay(std::string_view text);

// Part of each day, from `begin` up to `end`; it crosses midnight when end <= begin (equal: the
// whole day).
struct HoursOfDay {
  TimeOfDay begin;
  TimeOfDay end;
  auto operator<=>(const HoursOfDay&) const = default;
  // Bit h is set when any minute of hour h (0 to 23) is inside.
  uint32_t HourMask() const;
};
// `HH:MM-HH:MM`.
absl::StatusOr<HoursOfDay> ParseHoursOfDay(std::string_view text);
std::string FormatHoursOfDay(const HoursOfDay& hours);

}  // namespace cohost
