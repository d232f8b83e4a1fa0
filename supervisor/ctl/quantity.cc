// SPDX-License-Identifier: Apache-2.0
#include "supervisor/ctl/quantity.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace cohost::supervisor {
namespace {

std::string TwoDigits(double value, const char* unit) {
  // 9.95 would be rounded to "9.9" or "10" by its last bit.
  return value < 9.95 ? absl::StrFormat("%.1f %s", value, unit)
                      : absl::StrFormat("%.0f %s", value, unit);
}

}  // namespace

std::string FormatCount(uint64_t count) {
  std::string digits = absl::StrCat(count);
  for (size_t end = digits.size(); end > 3; end -= 3) digits.insert(end - 3, ",");
  return digits;
}

std::string FormatSpan(absl::Duration duration) {
  const double seconds = absl::ToDoubleSeconds(duration);
  if (seconds < 0.0009995) return absl::StrFormat("%.0f us", seconds * 1e6);
  if (seconds < 0.9995) return TwoDigits(seconds * 1e3, "ms");
  if (seconds < 60) return TwoDigits(seconds, "s");
  const auto whole = static_cast<int64_t>(seconds);
  if (whole < 3600) return absl::StrCat(whole / 60, "m ", whole % 60, "s");
  return absl::StrCat(whole / 3600, "h ", whole % 3600 / 60, "m");
}

std::string FormatAge(const google::protobuf::Timestamp& time, absl::Time now) {
  if (time.seconds() == 0) return "";
  // The clock may have been set back since.
  const int64_t seconds = std::max<int64_t>(0, absl::ToInt64Seconds(now - ToTime(time)));
  if (seconds < 60) return absl::StrCat(seconds, "s");
  if (seconds < 3600) return absl::StrCat(seconds / 60, "m");
  if (seconds < 86400) return absl::StrCat(seconds / 3600, "h ", seconds % 3600 / 60, "m");
  return absl::StrCat(seconds / 86400, "d ", seconds % 86400 / 3600, "h");
}

std::string FormatTime(const google::protobuf::Timestamp& time) {
  if (time.seconds() == 0) return "";
  return absl::FormatTime("%Y-%m-%d %H:%M:%S", ToTime(time), absl::LocalTimeZone());
}

absl::Time ToTime(const google::protobuf::Timestamp& time) {
  return absl::FromUnixSeconds(time.seconds()) + absl::Nanoseconds(time.nanos());
}

}  // namespace cohost::supervisor
