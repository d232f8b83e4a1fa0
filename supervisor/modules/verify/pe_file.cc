// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/verify/pe_file.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "base/strings.h"
#include "base/system/file.h"

namespace cohost::supervisor {

namespace {

constexpr size_t kDosHeaderSize = 64;
constexpr size_t kPeOffsetAt = 60;
constexpr size_t kCoffSize = 24;  // with "PE\0\0"
constexpr size_t kSectionSize = 40;
// The loader of Windows takes as many; .NET writes three or four.
constexpr size_t kMostSections = 96;
constexpr size_t kMostDirectories = 16;
// Larger parts (metadata of the largest assemblies has some MiB) are damaged sizes.
constexpr uint32_t kMostBytes = uint32_t{256} << 20;

absl::Status Cut(std::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("it is cut: ", AsAbsl(what), "; copy or build it again"));
}

absl::Status Damaged(std::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat(AsAbsl(what), "; it is damaged: copy or build it again"));
}

template <typename T>
T NumberAt(const unsigned char* at) {
  T number;
  std::memcpy(&number, at, sizeof number);
  return number;
}

}  // namespace

absl::StatusOr<PeFile> PeFile::Read(int fd) {
  struct stat status;
  if (::fstat(fd, &status) != 0) return ErrnoStatus(errno, "fstat", "");
  PeFile file(fd, static_cast<uint64_t>(status.st_size));
  COHOST_RETURN_IF_ERROR(file.ReadHeaders());
  return file;
}

absl::Status PeFile::ReadBytes(uint64_t offset, void* to, size_t length) const {
  if (offset > size_ || length > size_ - offset) return Cut("a part lies outside of the file");
  COHOST_ASSIGN_OR_RETURN(const size_t got, ReadAt(fd_, offset, to, length));
  if (got < length) return Cut("it became shorter while it was read");
  return absl::OkStatus();
}

absl::Status PeFile::ReadHeaders() {
  std::array<unsigned char, kDosHeaderSize> dos;
  if (size_ < dos.size()) return Cut("it is too short for a PE header");
  COHOST_RETURN_IF_ERROR(ReadBytes(0, dos.data(), dos.size()));
  if (dos[0] != 'M' || dos[1] != 'Z') {
    return absl::InvalidArgumentError("it is not a PE file; name a .NET assembly (.dll)");
  }
  const uint64_t at = NumberAt<uint32_t>(&dos[kPeOffsetAt]);
  std::array<unsigned char, kCoffSize> coff;
  COHOST_RETURN_IF_ERROR(ReadBytes(at, coff.data(), coff.size()));
  if (std::memcmp(coff.data(), "PE\0\0", 4) != 0) {
    return absl::InvalidArgumentError("it is not a PE file; name a .NET assembly (.dll)");
  }
  machine_ = NumberAt<uint16_t>(&coff[4]);
  const size_t sections = NumberAt<uint16_t>(&coff[6]);
  const auto optional_size = NumberAt<uint16_t>(&coff[20]);
  if (sections == 0 || sections > kMostSections) {
    return Damaged("its number of sections makes no sense");
  }
  COHOST_RETURN_IF_ERROR(ReadOptionalHeader(at + kCoffSize, optional_size));
  return ReadSections(at + kCoffSize + optional_size, sections);
}

absl::Status PeFile::ReadOptionalHeader(uint64_t offset, uint16_t size) {
  constexpr uint16_t kMagicPe32 = 0x10b;
  constexpr uint16_t kMagicPe32Plus = 0x20b;
  std::vector<unsigned char> header(size);
  COHOST_RETURN_IF_ERROR(ReadBytes(offset, header.data(), header.size()));
  const uint16_t magic = header.size() < 2 ? 0 : NumberAt<uint16_t>(header.data());
  if (magic != kMagicPe32 && magic != kMagicPe32Plus) {
    return Damaged("its optional header is of no known kind");
  }
  format_ = magic == kMagicPe32 ? Format::kPe32 : Format::kPe32Plus;
  const size_t directories_at = format_ == Format::kPe32 ? 96 : 112;
  if (header.size() < directories_at) return Damaged("its optional header is too short");
  const size_t count = std::min({size_t{NumberAt<uint32_t>(&header[directories_at - 4])},
                                 kMostDirectories, (header.size() - directories_at) / 8});
  for (size_t i = 0; i < count; ++i) {
    const unsigned char* directory = header.data() + directories_at + i * 8;
    directories_.push_back({NumberAt<uint32_t>(directory), NumberAt<uint32_t>(directory + 4)});
  }
  return absl::OkStatus();
}

absl::Status PeFile::ReadSections(uint64_t offset, size_t count) {
  std::vector<unsigned char> headers(count * kSectionSize);
  COHOST_RETURN_IF_ERROR(ReadBytes(offset, headers.data(), headers.size()));
  uint64_t memory_end = 0;
  for (size_t i = 0; i < count; ++i) {
    const unsigned char* header = headers.data() + i * kSectionSize;
    const auto in_memory = NumberAt<uint32_t>(header + 8);
    const auto in_file = NumberAt<uint32_t>(header + 16);
    Section section;
    section.address = NumberAt<uint32_t>(header + 12);
    section.offset = NumberAt<uint32_t>(header + 20);
    section.size = std::min(in_memory, in_file);
    if (in_file > 0 && (section.offset > size_ || in_file > size_ - section.offset)) {
      return Cut(absl::StrCat("section ", i + 1, " ends at byte ",
                              uint64_t{section.offset} + in_file, " of ", size_));
    }
    if (section.address < memory_end) return Damaged("its sections overlap");
    memory_end = uint64_t{section.address} + in_memory;
    sections_.push_back(section);
  }
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> PeFile::OffsetOf(PeRange range) const {
  for (const Section& section : sections_) {
    if (range.address < section.address) continue;
    const uint32_t inside = range.address - section.address;
    if (inside <= section.size && range.size <= section.size - inside) {
      return uint64_t{section.offset} + inside;
    }
  }
  return Damaged("one of its tables lies outside of its sections");
}

absl::Status PeFile::ReadRange(PeRange range, void* to) const {
  COHOST_ASSIGN_OR_RETURN(const uint64_t offset, OffsetOf(range));
  return ReadBytes(offset, to, range.size);
}

absl::StatusOr<std::string> PeFile::ReadRange(PeRange range) const {
  if (range.size > kMostBytes) return Damaged("one of its tables is too large");
  // Checked before memory is taken for it.
  COHOST_RETURN_IF_ERROR(OffsetOf(range).status());
  std::string bytes(range.size, '\0');
  COHOST_RETURN_IF_ERROR(ReadRange(range, bytes.data()));
  return bytes;
}

}  // namespace cohost::supervisor
