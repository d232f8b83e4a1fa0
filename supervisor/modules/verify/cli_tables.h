// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// Tables of the metadata of a CLI file (cli_metadata.h), for those who read rows of them. No number
// of the metadata is trusted.
namespace cohost::supervisor {

inline constexpr size_t kCliTables = 64;

// Reads numbers one after the other; behind the end all are 0 and `failed` tells.
class CliReader {
 public:
  explicit CliReader(std::string_view bytes) : bytes_(bytes) {}

  template <typename T>
  T Next() {
    T number = 0;
    if (sizeof(T) > bytes_.size() - at_) {
      failed_ = true;
      at_ = bytes_.size();
      return number;
    }
    std::memcpy(&number, bytes_.data() + at_, sizeof number);
    at_ += sizeof number;
    return number;
  }
  // An index of 2 or 4 bytes.
  uint32_t NextIndex(size_t size) { return size == 2 ? Next<uint16_t>() : Next<uint32_t>(); }
  void Skip(uint64_t count) {
    if (count > bytes_.size() - at_) failed_ = true;
    at_ += std::min<uint64_t>(count, bytes_.size() - at_);
  }
  std::string_view Take(uint64_t count) {
    const size_t from = at_;
    Skip(count);
    return bytes_.substr(from, at_ - from);
  }
  bool failed() const { return failed_; }

 private:
  std::string_view bytes_;
  size_t at_ = 0;
  bool failed_ = false;
};

// Numbers of rows and the sizes of indexes that follow from them.
class CliLayout {
 public:
  explicit CliLayout(uint8_t heap_sizes) : heap_sizes_(heap_sizes) {}

  void SetRows(size_t table, uint32_t rows) { rows_[table] = rows; }
  uint32_t rows(size_t table) const { return rows_[table]; }

  size_t String() const { return (heap_sizes_ & 1) != 0 ? 4 : 2; }
  size_t Guid() const { return (heap_sizes_ & 2) != 0 ? 4 : 2; }
  size_t Blob() const { return (heap_sizes_ & 4) != 0 ? 4 : 2; }
  size_t TypeDefOrRef() const { return Coded(2, {0x02, 0x01, 0x1b}); }
  size_t MemberRefParent() const { return Coded(3, {0x02, 0x01, 0x1a, 0x06, 0x1b}); }
  size_t ResolutionScope() const { return Coded(2, {0x00, 0x1a, 0x23, 0x01}); }

  // An index into one table.
  size_t Row(size_t table) const { return rows_[table] < 0x10000 ? 2 : 4; }

  // The length of a row of tables up to NestedClass (II.22); 0 for numbers that are no table.
  size_t RowSize(size_t table) const;

 private:
  // An index into one of several tables, told by its lowest `bits` (II.24.2.6).
  size_t Coded(size_t bits, std::initializer_list<size_t> tables) const {
    const auto small = [&](size_t table) { return rows_[table] < uint32_t{1} << (16 - bits); };
    return std::all_of(tables.begin(), tables.end(), small) ? 2 : 4;
  }
  size_t HasConstant() const { return Coded(2, {0x04, 0x08, 0x17}); }
  size_t HasCustomAttribute() const {
    return Coded(5, {0x06, 0x04, 0x01, 0x02, 0x08, 0x09, 0x0a, 0x00, 0x0e, 0x17, 0x14,
                     0x11, 0x1a, 0x1b, 0x20, 0x23, 0x26, 0x27, 0x28, 0x2a, 0x2c, 0x2b});
  }
  size_t HasFieldMarshal() const { return Coded(1, {0x04, 0x08}); }
  size_t HasDeclSecurity() const { return Coded(2, {0x02, 0x06, 0x20}); }
  size_t Implementation() const { return Coded(2, {0x26, 0x23, 0x27}); }
  size_t HasSemantics() const { return Coded(1, {0x14, 0x17}); }
  size_t MethodDefOrRef() const { return Coded(1, {0x06, 0x0a}); }
  size_t MemberForwarded() const { return Coded(1, {0x04, 0x06}); }
  size_t CustomAttributeType() const { return Coded(3, {0x06, 0x0a}); }

  const uint8_t heap_sizes_;
  std::array<uint32_t, kCliTables> rows_ = {};
};

// Parts of the metadata that is read, and as long as it.
struct CliStreams {
  std::string version;
  std::string_view tables;
  std::string_view strings;
};

// INVALID_ARGUMENT saying what is damaged.
absl::Status DamagedMetadata(std::string_view what);
absl::StatusOr<CliStreams> FindCliStreams(std::string_view metadata);
// The head of the stream of tables; `reader` is at the first row then.
absl::StatusOr<CliLayout> ReadCliLayout(CliReader& reader);
// A name of the heap of strings.
absl::StatusOr<std::string> CliStringAt(std::string_view strings, uint32_t offset);

}  // namespace cohost::supervisor
