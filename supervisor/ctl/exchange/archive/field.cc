// SPDX-License-Identifier: Apache-2.0
#include "supervisor/ctl/exchange/archive/field.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/sha256.h"
#include "base/strings.h"

namespace cohost::supervisor {
namespace {

constexpr std::string_view kEmpty = "%";
// Longer ones are cut in messages.
constexpr size_t kQuoted = 80;

bool IsEscaped(unsigned char byte) { return byte <= ' ' || byte == '%' || byte == 0x7f; }

int DigitOf(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

absl::Status NoField(std::string_view field) {
  return absl::InvalidArgumentError(
      absl::StrCat("'", AsAbsl(field.substr(0, kQuoted)), "' is no field"));
}

}  // namespace

std::string EscapeField(std::string_view text) {
  if (text.empty()) return std::string(kEmpty);
  std::string field;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (IsEscaped(byte)) {
      absl::StrAppendFormat(&field, "%%%02X", byte);
    } else {
      field += c;
    }
  }
  return field;
}

absl::StatusOr<std::string> UnescapeField(std::string_view field) {
  if (field == kEmpty) return "";
  if (field.empty()) return NoField(field);
  std::string text;
  for (size_t i = 0; i < field.size(); ++i) {
    const auto byte = static_cast<unsigned char>(field[i]);
    if (byte != '%') {
      if (IsEscaped(byte)) return NoField(field);
      text += field[i];
      continue;
    }
    if (field.size() - i < 3) return NoField(field);
    const int high = DigitOf(field[i + 1]);
    const int low = DigitOf(field[i + 2]);
    if (high < 0 || low < 0 || !IsEscaped(static_cast<unsigned char>(high * 16 + low))) {
      return NoField(field);
    }
    text += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return text;
}

std::vector<std::string_view> SplitFields(std::string_view line) {
  std::vector<std::string_view> fields;
  while (true) {
    const size_t blank = line.find(' ');
    fields.push_back(line.substr(0, blank));
    if (blank == std::string_view::npos) return fields;
    line.remove_prefix(blank + 1);
  }
}

absl::StatusOr<std::string_view> TakeLine(std::string_view& text) {
  const size_t end = text.find('\n');
  if (end == std::string_view::npos) {
    return absl::InvalidArgumentError(text.empty() ? "a line is missing" : "a line has no end");
  }
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end + 1);
  return line;
}

absl::StatusOr<uint64_t> ParseNumber(std::string_view field) {
  uint64_t number = 0;
  if (!absl::SimpleAtoi(AsAbsl(field), &number) || absl::StrCat(number) != field) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", AsAbsl(field.substr(0, kQuoted)), "' is no number"));
  }
  return number;
}

std::string HashOf(std::string_view text) {
  Sha256 hash;
  hash.Update(text);
  return HexDigest(hash.Finish());
}

}  // namespace cohost::supervisor
