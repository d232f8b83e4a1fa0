// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/status.h"

namespace cohost::supervisor {

// Machines of PE files.
inline constexpr uint16_t kPeI386 = 0x14c;  // also what runs anywhere (IL)
inline constexpr uint16_t kPeArm = 0x1c4;
inline constexpr uint16_t kPeX64 = 0x8664;
inline constexpr uint16_t kPeArm64 = 0xaa64;
// Precompiled .NET code for Linux has the number of its machine combined (xor) with this one.
inline constexpr uint16_t kPeLinux = 0x7b79;

// A part of a file in memory, as the headers name it: a relative address and a length.
struct PeRange {
  uint32_t address = 0;
  uint32_t size = 0;
};

// A PE file (.dll, .exe) as far as .NET needs it: headers and sections, read from a descriptor with
// pread(2), never mapped. No number of the file is trusted. Errors are INVALID_ARGUMENT saying what
// is wrong and what to do, except for those of the system. One thread at a time; the descriptor
// outlives it.
//
//   DOS header: "MZ", at 60 the offset of the PE header
//   PE header: "PE\0\0", machine 2, number of sections 2, ..., at 20 size of the optional header 2
//   optional header: 0x10b (PE32) or 0x20b (PE32+), ..., then up to 16 data directories of 8 bytes
//   section headers of 40 bytes: name 8, size in memory, address, size in file, offset, ...
class PeFile {
 public:
  enum class Format { kPe32, kPe32Plus };
  // The data directory of the CLI header.
  static constexpr size_t kCliDirectory = 14;

  // Also checks that every section lies inside of the file.
  static absl::StatusOr<PeFile> Read(int fd);

  uint16_t machine() const { return machine_; }
  Format format() const { return format_; }
  // Empty when the file has no such directory.
  PeRange directory(size_t number) const {
    return number < directories_.size() ? directories_[number] : PeRange();
  }

  // `size` bytes at that relative address; all of them have to come from one section of the file.
  absl::Status ReadRange(PeRange range, void* to) const;
  absl::StatusOr<std::string> ReadRange(PeRange range) const;
  // Whether ReadRange can read it.
  bool Has(PeRange range) const { return OffsetOf(range).ok(); }

 private:
  struct Section {
    uint32_t address = 0;
    uint32_t offset = 0;
    uint32_t size = 0;  // in the file and in memory
  };

  PeFile(int fd, uint64_t size) : fd_(fd), size_(size) {}

  absl::Status ReadHeaders();
  absl::Status ReadOptionalHeader(uint64_t offset, uint16_t size);
  absl::Status ReadSections(uint64_t offset, size_t count);
  absl::StatusOr<uint64_t> OffsetOf(PeRange range) const;
  absl::Status ReadBytes(uint64_t offset, void* to, size_t length) const;

  int fd_;
  uint64_t size_;
  uint16_t machine_ = 0;
  Format format_ = Format::kPe32;
  std::vector<PeRange> directories_;
  std::vector<Section> sections_;
};

}  // namespace cohost::supervisor
