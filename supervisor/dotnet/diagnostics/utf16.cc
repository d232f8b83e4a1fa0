// SPDX-License-Identifier: Apache-2.0
#include "supervisor/dotnet/diagnostics/utf16.h"

#include <cstddef>
#include <cstdint>

#include "base/valid_utf8.h"

namespace cohost::supervisor {
namespace {

constexpr uint32_t kReplacement = 0xfffd;

void AppendUnit(uint32_t unit, std::string& bytes) {
  bytes.push_back(static_cast<char>(unit & 0xff));
  bytes.push_back(static_cast<char>(unit >> 8));
}

void AppendUtf8(uint32_t code, std::string& text) {
  const auto add = [&text](uint32_t byte) { text.push_back(static_cast<char>(byte)); };
  if (code < 0x80) return add(code);
  if (code < 0x800) {
    add(0xc0 | code >> 6);
  } else if (code < 0x10000) {
    add(0xe0 | code >> 12);
    add(0x80 | (code >> 6 & 0x3f));
  } else {
    add(0xf0 | code >> 18);
    add(0x80 | (code >> 12 & 0x3f));
    add(0x80 | (code >> 6 & 0x3f));
  }
  add(0x80 | (code & 0x3f));
}

uint32_t UnitAt(std::string_view bytes, size_t at) {
  return static_cast<uint8_t>(bytes[at]) |
         static_cast<uint32_t>(static_cast<uint8_t>(bytes[at + 1])) << 8;
}

}  // namespace

std::string Utf16Bytes(std::string_view utf8) {
  const std::string valid = ValidUtf8(utf8);
  std::string bytes;
  for (size_t i = 0; i < valid.size();) {
    const auto first = static_cast<uint8_t>(valid[i]);
    const int more = first < 0x80 ? 0 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
    uint32_t code = more == 0 ? first : first & (0x3fu >> more);
    for (int k = 1; k <= more; ++k) {
      code = code << 6 | (static_cast<uint8_t>(valid[i + static_cast<size_t>(k)]) & 0x3fu);
    }
    i += static_cast<size_t>(more) + 1;
    if (code < 0x10000) {
      AppendUnit(code, bytes);
    } else {
      AppendUnit(0xd800 + ((code - 0x10000) >> 10), bytes);
      AppendUnit(0xdc00 + ((code - 0x10000) & 0x3ff), bytes);
    }
  }
  return bytes;
}

std::string FromUtf16Bytes(std::string_view bytes) {
  std::string text;
  for (size_t i = 0; i + 1 < bytes.size(); i += 2) {
    const uint32_t unit = UnitAt(bytes, i);
    if (unit < 0xd800 || unit >= 0xe000) {
      AppendUtf8(unit, text);
      continue;
    }
    const uint32_t next = i + 3 < bytes.size() ? UnitAt(bytes, i + 2) : 0;
    if (unit < 0xdc00 && next >= 0xdc00 && next < 0xe000) {
      AppendUtf8(0x10000 + ((unit - 0xd800) << 10) + (next - 0xdc00), text);
      i += 2;
    } else {
      AppendUtf8(kReplacement, text);
    }
  }
  return text;
}

}  // namespace cohost::supervisor
