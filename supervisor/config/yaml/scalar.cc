// SPDX-License-Identifier: Apache-2.0
#include "supervisor/config/yaml/scalar.h"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/strings.h"
#include "supervisor/config/yaml/text_check.h"

namespace cohost::supervisor {
namespace {

bool AllDigits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), absl::ascii_isdigit);
}

absl::Status NotA(std::string_view expected, const YamlNode& node, std::string_view reason) {
  return absl::InvalidArgumentError(absl::StrCat("expected ", AsAbsl(expected), ", not ",
                                                 Quoted(node.text), reason.empty() ? "" : ": ",
                                                 AsAbsl(reason)));
}

// Why `text`, which is not plain digits, is no decimal number, for the forms that some YAML readers
// take for one.
std::string_view NumberTrap(std::string_view text) {
  const auto has = [text](std::string_view characters) {
    return text.find_first_of(characters) != std::string_view::npos;
  };
  if (text[0] == '+') return "write it without '+'";
  if (!has("0123456789")) return "";
  if (has("_")) return "write it without '_'";
  if (has(":")) return "base 60 numbers are not supported";
  if (text.substr(0, 2) == "0x" || text.substr(0, 2) == "0o" || text.substr(0, 2) == "0b") {
    return "write it in decimal";
  }
  if (absl::ascii_isdigit(text.back()) && has("eE")) return "write it without an exponent";
  return "";
}

// Checks what integers and numbers have in common; `digits` is the text without its minus.
absl::Status CheckDigits(std::string_view expected, const YamlNode& node, std::string_view digits) {
  if (node.quoted) return NotA(expected, node, "write it without quotes");
  if (node.text.empty()) return NotA(expected, node, "");
  const size_t point = digits.find('.');
  const std::string_view whole = digits.substr(0, point);
  if (!AllDigits(whole)) return NotA(expected, node, NumberTrap(node.text));
  if (whole.size() > 1 && whole[0] == '0') {
    return NotA(expected, node,
                "leading zeros mean octal to some readers; write the decimal number without them");
  }
  return absl::OkStatus();
}

std::string_view WithoutMinus(std::string_view text) {
  return text.substr(0, 1) == "-" ? text.substr(1) : text;
}

}  // namespace

std::string Quoted(std::string_view text) {
  // Long enough for a path, short enough for a line.
  constexpr size_t kMost = 120;
  std::string shown(text.substr(0, kMost));
  // Not in the middle of a UTF-8 sequence.
  while (shown.size() < text.size() && (text[shown.size()] & 0xc0) == 0x80) shown.pop_back();
  std::replace_if(shown.begin(), shown.end(), IsControl, '?');
  return absl::StrCat("'", shown, shown.size() < text.size() ? "..." : "", "'");
}

absl::StatusOr<bool> ScalarToBoolean(const YamlNode& node) {
  constexpr std::string_view kExpected = "true or false";
  if (node.quoted) return NotA(kExpected, node, "write it without quotes");
  if (node.text == "true") return true;
  if (node.text == "false") return false;
  const std::string lower = absl::AsciiStrToLower(node.text);
  if (lower == "true" || lower == "false")
    return NotA(kExpected, node, "write it in small letters");
  if (lower == "on" || lower == "yes" || lower == "y") return NotA(kExpected, node, "write true");
  if (lower == "off" || lower == "no" || lower == "n") return NotA(kExpected, node, "write false");
  return NotA(kExpected, node, "");
}

absl::StatusOr<int64_t> ScalarToInteger(const YamlNode& node) {
  constexpr std::string_view kExpected = "a whole number";
  const std::string_view digits = WithoutMinus(node.text);
  if (const absl::Status status = CheckDigits(kExpected, node, digits); !status.ok()) return status;
  if (!AllDigits(digits)) return NotA(kExpected, node, "a fraction is not allowed");
  int64_t value = 0;
  const char* end = node.text.data() + node.text.size();
  const auto result = std::from_chars(node.text.data(), end, value);
  if (result.ec == std::errc::result_out_of_range) {
    return absl::OutOfRangeError(absl::StrCat(Quoted(node.text), " is too large"));
  }
  return value;
}

absl::StatusOr<double> ScalarToNumber(const YamlNode& node) {
  constexpr std::string_view kExpected = "a number";
  const std::string_view digits = WithoutMinus(node.text);
  if (const absl::Status status = CheckDigits(kExpected, node, digits); !status.ok()) return status;
  const size_t point = digits.find('.');
  if (point != std::string_view::npos && !AllDigits(digits.substr(point + 1))) {
    return NotA(kExpected, node, NumberTrap(node.text));
  }
  double value = 0;
  const char* end = node.text.data() + node.text.size();
  // from_chars knows no locale: strtod would read 1,5 in some.
  const auto result = std::from_chars(node.text.data(), end, value, std::chars_format::fixed);
  if (result.ec != std::errc()) {
    return absl::OutOfRangeError(absl::StrCat(Quoted(node.text), " is too large"));
  }
  return value;
}

absl::StatusOr<mode_t> ScalarToMode(const YamlNode& node) {
  constexpr std::string_view kExpected = "a file mode like \"0660\"";
  // An unquoted 0660 is 660, 432 or text, as the reader likes.
  if (!node.quoted) return NotA(kExpected, node, "write it in quotes");
  if (node.text.size() < 3 || node.text.size() > 4 ||
      node.text.find_first_not_of("01234567") != std::string::npos) {
    return NotA(kExpected, node, "three or four octal digits");
  }
  mode_t mode = 0;
  for (const char c : node.text) mode = mode * 8 + static_cast<mode_t>(c - '0');
  if (mode > 0777) return NotA(kExpected, node, "allowed: \"0000\" to \"0777\"");
  return mode;
}

absl::Status CheckName(std::string_view text) {
  const auto allowed = [](char c) { return absl::ascii_isalnum(c) || c == '_'; };
  const bool valid = !text.empty() && text.size() <= 63 && allowed(text[0]) &&
                     std::all_of(text.begin(), text.end(),
                                 [allowed](char c) { return allowed(c) || c == '.' || c == '-'; });
  if (valid) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      Quoted(text),
      " is not a name: 1 to 63 letters, digits, '_', '.' and '-', the first one no '.' "
      "or '-'",
      text.size() > 63 ? absl::StrCat(" (it has ", text.size(), ")") : ""));
}

}  // namespace cohost::supervisor
