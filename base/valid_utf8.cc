// SPDX-License-Identifier: Apache-2.0
#include "base/valid_utf8.h"

#include <cstddef>

namespace cohost {
namespace {

size_t LengthByLead(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead < 0xc2) return 0;  // a continuation byte, or an overlong form of ASCII
  if (lead < 0xe0) return 2;
  if (lead < 0xf0) return 3;
  return lead < 0xf5 ? 4 : 0;
}

// Length of the sequence at the front of `text`, 0 when it is none.
size_t SequenceLength(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const size_t length = LengthByLead(byte(0));
  if (length == 0 || length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  if (length < 3) return length;
  // Overlong forms, surrogates, and what is above U+10FFFF.
  const unsigned char second = byte(1);
  switch (byte(0)) {
    case 0xe0:
      return second >= 0xa0 ? length : 0;
    case 0xed:
      return second < 0xa0 ? length : 0;
    case 0xf0:
      return second >= 0x90 ? length : 0;
    case 0xf4:
      return second < 0x90 ? length : 0;
    default:
      return length;
  }
}

}  // namespace

std::string ValidUtf8(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  while (!text.empty()) {
    const size_t length = SequenceLength(text);
    if (length == 0) {
      valid += "\xef\xbf\xbd";
      text.remove_prefix(1);
    } else {
      valid += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
  return valid;
}

size_t CutBefore(std::string_view text, size_t most) {
  if (most >= text.size()) return text.size();
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0) == 0x80) --most;
  return most;
}

}  // namespace cohost
