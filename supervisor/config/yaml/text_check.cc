// SPDX-License-Identifier: Apache-2.0
#include "supervisor/config/yaml/text_check.h"

#include <cstddef>
#include <cstdint>

#include "absl/strings/str_format.h"

namespace cohost::supervisor {
namespace {

// The length of the well-formed UTF-8 sequence at the start of `text`, 0 when it is broken:
// overlong forms, surrogates and code points above U+10FFFF are (RFC 3629).
size_t SequenceLength(std::string_view text) {
  const auto byte = [text](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(0);
  if (first < 0x80) return 1;
  size_t length = 0;
  uint8_t least = 0x80, most = 0xbf;  // of the second byte
  if (first >= 0xc2 && first <= 0xdf) {
    length = 2;
  } else if (first >= 0xe0 && first <= 0xef) {
    length = 3;
    if (first == 0xe0) least = 0xa0;
    if (first == 0xed) most = 0x9f;
  } else if (first >= 0xf0 && first <= 0xf4) {
    length = 4;
    if (first == 0xf0) least = 0x90;
    if (first == 0xf4) most = 0x8f;
  } else {
    return 0;
  }
  if (text.size() < length || byte(1) < least || byte(1) > most) return 0;
  for (size_t i = 2; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  return length;
}

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

std::string FaultAt(std::string_view rest) {
  const auto first = static_cast<uint8_t>(rest[0]);
  if (first == 0) return "the file holds a NUL byte; it is not a text file";
  if (rest[0] != '\t' && rest[0] != '\n' && rest[0] != '\r' && IsControl(rest[0])) {
    return absl::StrFormat("control character 0x%02x", first);
  }
  if (rest.substr(0, 3) == kByteOrderMark) return "byte order mark inside the text";
  if (SequenceLength(rest) == 0) {
    return absl::StrFormat("byte 0x%02x is not valid UTF-8; the file must be UTF-8", first);
  }
  return "";
}

}  // namespace

bool IsControl(char c) { return static_cast<uint8_t>(c) < 0x20 || c == 0x7f; }

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const size_t length = SequenceLength(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::optional<TextFault> CheckText(std::string_view text) {
  TextFault place;
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c >= ' ' && c < 0x7f) {  // nearly every byte
      ++place.column;
      ++i;
      continue;
    }
    place.message = FaultAt(text.substr(i));
    if (!place.message.empty()) return place;
    if (c == '\n') {
      ++place.line;
      place.column = 0;
    }
    const size_t length = SequenceLength(text.substr(i));
    place.column += static_cast<int>(c == '\n' ? 1 : length);
    i += length;
  }
  return std::nullopt;
}

}  // namespace cohost::supervisor
