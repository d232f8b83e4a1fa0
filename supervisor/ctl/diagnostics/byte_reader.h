// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "supervisor/dotnet/diagnostics/utf16.h"

namespace cohost::supervisor {

// Takes little endian values from the front of bytes that nobody vouches for. What is not there
// reads as zero or empty, and from then on the reader has failed: asked once, at the end.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}

  bool failed() const { return failed_; }
  size_t left() const { return bytes_.size(); }

  std::string_view Bytes(uint64_t size) {
    if (size > bytes_.size()) {
      failed_ = true;
      bytes_ = {};
      return {};
    }
    const std::string_view taken = bytes_.substr(0, static_cast<size_t>(size));
    bytes_.remove_prefix(taken.size());
    return taken;
  }

  // uint8_t to uint64_t, float, double.
  template <typename Value>
  Value Take() {
    Value value{};
    const std::string_view bytes = Bytes(sizeof(Value));
    if (!failed_) std::memcpy(&value, bytes.data(), sizeof(Value));
    return value;
  }

  // 7 bits a byte, the lowest first; further bits than 64 are lost.
  uint64_t Varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 70 && !failed_; shift += 7) {
      const auto byte = Take<uint8_t>();
      if (shift < 64) value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
    failed_ = true;
    return 0;
  }

  // UTF-16 up to a zero unit.
  std::string Text() {
    for (size_t at = 0; at + 1 < bytes_.size(); at += 2) {
      if (bytes_[at] != '\0' || bytes_[at + 1] != '\0') continue;
      std::string text = FromUtf16Bytes(bytes_.substr(0, at));
      bytes_.remove_prefix(at + 2);
      return text;
    }
    failed_ = true;
    bytes_ = {};
    return "";
  }

 private:
  std::string_view bytes_;
  bool failed_ = false;
};

}  // namespace cohost::supervisor
