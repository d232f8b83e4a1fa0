// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace cohost {

static_assert(std::endian::native == std::endian::little, "our messages never leave the machine");

// Appends little-endian numbers and strings (u32 length, bytes) to a message body.
class WireWriter {
 public:
  void U32(uint32_t value) { Raw(&value, sizeof(value)); }
  void U64(uint64_t value) { Raw(&value, sizeof(value)); }
  void String(std::string_view text) {
    U32(static_cast<uint32_t>(text.size()));
    bytes_.append(text);
  }
  void Raw(const void* data, size_t size) { bytes_.append(static_cast<const char*>(data), size); }

  const std::string& bytes() const { return bytes_; }
  std::string Take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// Reads what a WireWriter wrote, from bytes that may be torn or hostile: a read past the end or
// over a limit fails, gives zero or an empty string, and so does every read after it. The caller
// checks Complete() once, at the end. Refers to the bytes, which must outlive it.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : bytes_(bytes) {}

  uint32_t U32() { return Number<uint32_t>(); }
  uint64_t U64() { return Number<uint64_t>(); }
  std::string_view String(size_t limit) {
    const uint32_t size = U32();
    if (size > limit) Fail();
    return Raw(size);
  }
  std::string_view Raw(size_t size) {
    if (failed_ || size > bytes_.size()) {
      Fail();
      return {};
    }
    const std::string_view part = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return part;
  }
  // A number of elements of at least `element_size` bytes each: fails when so many cannot follow,
  // so that a hostile count allocates nothing.
  uint32_t Count(size_t limit, size_t element_size) {
    const uint32_t count = U32();
    if (count > limit || count > bytes_.size() / element_size) Fail();
    return failed_ ? 0 : count;
  }
  // For values that the format forbids.
  void Require(bool condition) {
    if (!condition) Fail();
  }

  bool failed() const { return failed_; }
  // Everything was read, and nothing is left over.
  bool Complete() const { return !failed_ && bytes_.empty(); }

 private:
  template <typename T>
  T Number() {
    T value = 0;
    const std::string_view part = Raw(sizeof(T));
    if (!part.empty()) std::memcpy(&value, part.data(), sizeof(T));
    return value;
  }
  void Fail() {
    failed_ = true;
    bytes_ = {};
  }

  std::string_view bytes_;
  bool failed_ = false;
};

}  // namespace cohost
