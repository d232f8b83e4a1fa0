// SPDX-License-Identifier: Apache-2.0
#include "base/units.h"

#include <array>
#include <cctype>
#include <cstdio>
#include <limits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/strings.h"

namespace cohost {
namespace {

// Longer durations are mistakes, and SteadyTime's nanoseconds end at 292 years.
constexpr absl::Duration kLongestDuration = absl::Hours(24 * 36500);

struct ByteUnit {
  std::string_view name;
  int shift;
};
constexpr std::array<ByteUnit, 5> kByteUnits = {
    {{"Ti", 40}, {"Gi", 30}, {"Mi", 20}, {"Ki", 10}, {"", 0}}};

struct TimeUnit {
  std::string_view name;
  int64_t microseconds;
};
// From the longest to the shortest: the order in which a duration names them.
constexpr std::array<TimeUnit, 6> kTimeUnits = {{{"d", 86'400'000'000},
                                                 {"h", 3'600'000'000},
                                                 {"m", 60'000'000},
                                                 {"s", 1'000'000},
                                                 {"ms", 1'000},
                                                 {"us", 1}}};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Takes the digits at the front of `text`; false when there are none or they overflow.
bool TakeNumber(std::string_view& text, uint64_t& number) {
  size_t length = 0;
  while (length < text.size() && IsDigit(text[length])) ++length;
  const bool ok = length > 0 && absl::SimpleAtoi(AsAbsl(text.substr(0, length)), &number);
  if (ok) text.remove_prefix(length);
  return ok;
}

std::string_view TakeLetters(std::string_view& text) {
  size_t length = 0;
  while (length < text.size() && std::isalpha(static_cast<unsigned char>(text[length]))) ++length;
  const std::string_view letters = text.substr(0, length);
  text.remove_prefix(length);
  return letters;
}

absl::Status Refuse(std::string_view text, std::string_view reason) {
  return absl::InvalidArgumentError(absl::StrCat("'", AsAbsl(text), "' ", AsAbsl(reason)));
}

// The unit that somebody who wrote `unit` probably meant, empty when that is not clear.
std::string_view ProbableByteUnit(std::string_view unit) {
  if (unit.empty()) return {};
  switch (std::tolower(static_cast<unsigned char>(unit[0]))) {
    case 'k':
      return "Ki";
    case 'm':
      return "Mi";
    case 'g':
      return "Gi";
    case 't':
      return "Ti";
    default:
      return {};
  }
}

}  // namespace

absl::StatusOr<Bytes> ParseBytes(std::string_view text) {
  std::string_view rest = text;
  uint64_t number = 0;
  if (!TakeNumber(rest, number)) {
    return Refuse(text, "is not a size: write a whole number with Ki, Mi, Gi or Ti, as in 256Mi");
  }
  if (!rest.empty() && rest[0] == '.') {
    return Refuse(text, "is not a whole number: use a smaller unit, as in 1536Ki for 1.5Mi");
  }
  for (const ByteUnit& unit : kByteUnits) {
    if (rest != unit.name) continue;
    if (number > (std::numeric_limits<uint64_t>::max() >> unit.shift)) {
      return Refuse(text, "is too large");
    }
    return Bytes{number << unit.shift};
  }
  const std::string_view meant = ProbableByteUnit(rest);
  if (meant.empty()) return Refuse(text, "has an unknown unit: use Ki, Mi, Gi or Ti");
  return absl::InvalidArgumentError(absl::StrCat("'", AsAbsl(text),
                                                 "' has a unit with two meanings: did you mean ",
                                                 number, AsAbsl(meant), "?"));
}

std::string FormatBytes(Bytes bytes) {
  for (const ByteUnit& unit : kByteUnits) {
    const uint64_t size = uint64_t{1} << unit.shift;
    if (bytes.count >= size && bytes.count % size == 0) {
      return absl::StrCat(bytes.count / size, AsAbsl(unit.name));
    }
  }
  return "0";
}

std::string FormatMegabytes(Bytes bytes) {
  const double megabytes = static_cast<double>(bytes.count) / 1e6;
  const int decimals = megabytes < 9.995 ? 2 : megabytes < 99.95 ? 1 : 0;
  std::array<char, 48> buffer;
  std::snprintf(buffer.data(), buffer.size(), "%.*f MB", decimals, megabytes);
  return buffer.data();
}

absl::StatusOr<absl::Duration> ParseDuration(std::string_view text) {
  if (text == "0") return absl::ZeroDuration();
  constexpr std::string_view kForm = "is not a duration: write for instance 250ms, 30s or 1h30m";
  std::string_view rest = text;
  absl::Duration total;
  size_t next_unit = 0;
  do {
    uint64_t number = 0;
    if (!TakeNumber(rest, number)) return Refuse(text, kForm);
    if (!rest.empty() && rest[0] == '.') {
      return Refuse(text, "is not a whole number: use a smaller unit, as in 1500ms for 1.5s");
    }
    const std::string_view name = TakeLetters(rest);
    if (name.empty()) return Refuse(text, "has no unit: use us, ms, s, m, h or d");
    size_t index = 0;
    while (index < kTimeUnits.size() && kTimeUnits[index].name != name) ++index;
    if (index == kTimeUnits.size()) {
      return Refuse(text, "has an unknown unit: use us, ms, s, m, h or d");
    }
    if (index < next_unit) return Refuse(text, "must name each unit once, the longest first");
    next_unit = index + 1;
    const int64_t unit = kTimeUnits[index].microseconds;
    if (number > static_cast<uint64_t>(std::numeric_limits<int64_t>::max() / unit)) {
      return Refuse(text, "is too long");
    }
    total += absl::Microseconds(static_cast<int64_t>(number) * unit);
  } while (!rest.empty());
  if (total > kLongestDuration) return Refuse(text, "is too long: the limit is 36500d");
  return total;
}

std::string FormatDuration(absl::Duration duration) {
  int64_t left = absl::ToInt64Microseconds(duration);
  if (left <= 0) return "0";
  std::string text;
  for (const TimeUnit& unit : kTimeUnits) {
    // Days only when nothing else follows: 29h is how people say it, not 1d5h.
    if (unit.name == "d" && left % unit.microseconds != 0) continue;
    if (left < unit.microseconds) continue;
    absl::StrAppend(&text, left / unit.microseconds, AsAbsl(unit.name));
    left %= unit.microseconds;
  }
  return text;
}

absl::StatusOr<TimeOfDay> ParseTimeOfDay(std::string_view text) {
  if (text.size() != 5 || text[2] != ':' || !IsDigit(text[0]) || !IsDigit(text[1]) ||
      !IsDigit(text[3]) || !IsDigit(text[4])) {
    return Refuse(text, "is not a time of day: write HH:MM, as in 03:30");
  }
  const int hour = (text[0] - '0') * 10 + (text[1] - '0');
  const int minute = (text[3] - '0') * 10 + (text[4] - '0');
  if (hour > 23 || minute > 59) return Refuse(text, "is not a time of day: 00:00 to 23:59");
  return TimeOfDay{hour * 60 + minute};
}

uint32_t HoursOfDay::HourMask() const {
  constexpr int kDay = 24 * 60;
  int length = end.minutes - begin.minutes;
  if (length <= 0) length += kDay;
  uint32_t mask = 0;
  for (int minute = begin.minutes; minute < begin.minutes + length; ++minute) {
    mask |= uint32_t{1} << (minute % kDay / 60);
  }
  return mask;
}

absl::StatusOr<HoursOfDay> ParseHoursOfDay(std::string_view text) {
  if (text.size() == 11 && text[5] == '-') {
    const auto begin = ParseTimeOfDay(text.substr(0, 5));
    const auto end = ParseTimeOfDay(text.substr(6));
    if (begin.ok() && end.ok()) return HoursOfDay{*begin, *end};
  }
  return Refuse(text, "is not a part of the day: write HH:MM-HH:MM, as in 09:00-18:00");
}

std::string FormatHoursOfDay(const HoursOfDay& hours) {
  std::array<char, 48> buffer;
  std::snprintf(buffer.data(), buffer.size(), "%02d:%02d-%02d:%02d", hours.begin.minutes / 60,
                hours.begin.minutes % 60, hours.end.minutes / 60, hours.end.minutes % 60);
  return buffer.data();
}

}  // namespace cohost
