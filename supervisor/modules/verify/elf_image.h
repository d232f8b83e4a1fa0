// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/status.h"

namespace cohost::supervisor {

// "x86-64", "AArch64", ...: what e_machine of an ELF header says, for people.
std::string ElfMachineName(uint16_t machine);

// Text out of a file for a message: printable, at most 200 bytes.
std::string PrintableText(std::string_view text);

// The parts of one ELF shared object that the dynamic loader reads, taken from a descriptor with
// pread(2), never mapped. No number of the file is trusted: every read is inside the file, every
// table has a bound. All errors are INVALID_ARGUMENT saying what is wrong with the file and what to
// do ("it is cut ...; copy it again"), except for those of the system. One thread at a time; the
// descriptor outlives it.
class ElfImage {
 public:
  static constexpr size_t kMostSymbols = size_t{1} << 20;

  // Reads header, program headers and dynamic table of a shared object for this machine.
  static absl::StatusOr<ElfImage> Read(int fd);

  // Everything that is mapped, and the section table behind it, lies inside of the file, and
  // segments are where a loader can put them; nothing but a signature follows.
  absl::Status CheckWhole() const;

  const std::vector<Elf64_Phdr>& segments() const { return segments_; }
  const Elf64_Phdr* FindSegment(uint32_t type) const;
  // The loaded segment that has these bytes of memory, in the file or behind it; null: none has.
  const Elf64_Phdr* SegmentOf(uint64_t address, uint64_t length) const;

  // Of several entries with one tag the last one, as the loader takes it.
  std::optional<uint64_t> Dynamic(int64_t tag) const;
  bool HasFlag(int64_t tag, uint64_t flag) const;
  // Offsets of DT_NEEDED in the table of strings, in the file's order.
  const std::vector<uint64_t>& needed() const { return needed_; }

  // `length` bytes of that address in memory; all of them have to come from the file.
  absl::Status ReadLoaded(uint64_t address, void* to, size_t length) const;
  // As many elements there.
  template <typename T>
  absl::StatusOr<std::vector<T>> ReadTable(uint64_t address, size_t count) const {
    if (count > kMostSymbols) {
      return absl::InvalidArgumentError("one of its tables is too large; it is damaged: copy it");
    }
    std::vector<T> table;
    // Checked before memory is taken for it.
    COHOST_RETURN_IF_ERROR(OffsetOf(address, count * sizeof(T)).status());
    table.resize(count);
    COHOST_RETURN_IF_ERROR(ReadLoaded(address, table.data(), count * sizeof(T)));
    return table;
  }
  // The table DT_STRTAB. Dynamic strings are offsets into it; StringAt reads one.
  absl::StatusOr<std::string> ReadStrings() const;
  absl::StatusOr<std::string> StringAt(uint64_t offset) const;

  absl::StatusOr<uint64_t> OffsetOf(uint64_t address, uint64_t length) const;

 private:
  ElfImage(int fd, uint64_t size) : fd_(fd), size_(size) {}

  absl::Status ReadHeader();
  absl::Status ReadDynamic();
  absl::Status CheckSectionTable(uint64_t size) const;
  bool Inside(uint64_t offset, uint64_t length) const {
    return offset <= size_ && length <= size_ - offset;
  }
  absl::Status ReadFile(uint64_t offset, void* to, size_t length) const;

  int fd_;
  uint64_t size_;
  Elf64_Ehdr header_ = {};
  std::vector<Elf64_Phdr> segments_;
  std::map<int64_t, uint64_t> dynamic_;
  std::vector<uint64_t> needed_;
};

}  // namespace cohost::supervisor
