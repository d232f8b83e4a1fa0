// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/verify/elf_image.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/strings.h"
#include "base/system/file.h"

namespace cohost::supervisor {

namespace {

constexpr size_t kMostSegments = 128;
constexpr size_t kMostDynamicEntries = 4096;
constexpr uint64_t kMostStrings = uint64_t{64} << 20;
constexpr uint64_t kLongestString = 4096;
// Address space that one module may take; more is a damaged size.
constexpr uint64_t kMostMemory = uint64_t{4} << 30;
constexpr uint64_t kPage = 4096;
// Room for an appended signature; more is a file that was made longer by mistake, sparse for
// example.
constexpr uint64_t kMostBehindEnd = uint64_t{1} << 20;

#if defined(__x86_64__)
constexpr Elf64_Half kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr Elf64_Half kMachine = EM_AARCH64;
#else
#error "the module store knows no modules of this machine"
#endif

absl::Status Wrong(std::string_view what) { return absl::InvalidArgumentError(AsAbsl(what)); }

absl::Status Cut(std::string_view what) {
  return Wrong(absl::StrCat("it is cut: ", AsAbsl(what), "; copy it again"));
}

absl::Status Damaged(std::string_view what) {
  return Wrong(absl::StrCat(AsAbsl(what), "; it is damaged: copy or build it again"));
}

absl::Status CheckLoad(const Elf64_Phdr& segment, uint64_t* memory_end) {
  if (segment.p_memsz < segment.p_filesz || segment.p_memsz > kMostMemory ||
      segment.p_vaddr > kMostMemory || segment.p_vaddr < *memory_end) {
    return Damaged("a segment's place in memory makes no sense");
  }
  if (segment.p_align == 0 || (segment.p_align & (segment.p_align - 1)) != 0 ||
      segment.p_align % kPage != 0 || (segment.p_vaddr - segment.p_offset) % segment.p_align != 0) {
    return Damaged("a segment's alignment makes no sense");
  }
  *memory_end = segment.p_vaddr + segment.p_memsz;
  return absl::OkStatus();
}

}  // namespace

std::string ElfMachineName(uint16_t machine) {
  switch (machine) {
    case EM_386:
      return "x86 with 32 bits";
    case EM_ARM:
      return "Arm with 32 bits";
    case EM_X86_64:
      return "x86-64";
    case EM_AARCH64:
      return "AArch64";
    case EM_RISCV:
      return "RISC-V";
    case EM_PPC64:
      return "POWER";
    case EM_S390:
      return "IBM Z";
    default:
      return absl::StrCat("machine ", machine);
  }
}

std::string PrintableText(std::string_view text) {
  constexpr size_t kLongest = 200;
  return absl::CHexEscape(AsAbsl(text.substr(0, kLongest)));
}

absl::StatusOr<ElfImage> ElfImage::Read(int fd) {
  struct stat status;
  if (::fstat(fd, &status) != 0) return ErrnoStatus(errno, "fstat", "");
  ElfImage image(fd, static_cast<uint64_t>(status.st_size));
  COHOST_RETURN_IF_ERROR(image.ReadHeader());
  COHOST_RETURN_IF_ERROR(image.ReadDynamic());
  return image;
}

absl::Status ElfImage::ReadFile(uint64_t offset, void* to, size_t length) const {
  if (!Inside(offset, length)) return Cut("a part lies outside of the file");
  COHOST_ASSIGN_OR_RETURN(const size_t got, ReadAt(fd_, offset, to, length));
  if (got < length) return Cut("it became shorter while it was read");
  return absl::OkStatus();
}

absl::Status ElfImage::ReadHeader() {
  if (size_ < sizeof header_) return Cut("it is too short for an ELF header");
  COHOST_RETURN_IF_ERROR(ReadFile(0, &header_, sizeof header_));
  if (std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0) {
    return Wrong("it is not an ELF file; name a shared object (.so)");
  }
  if (header_.e_ident[EI_CLASS] != ELFCLASS64 || header_.e_ident[EI_DATA] != ELFDATA2LSB ||
      header_.e_ident[EI_VERSION] != EV_CURRENT || header_.e_machine != kMachine) {
    return Wrong(absl::StrCat("it is an ELF file for another machine (",
                              ElfMachineName(header_.e_machine), "); build it for ",
                              ElfMachineName(kMachine)));
  }
  if (header_.e_type != ET_DYN) {
    return Wrong("it is an ELF file, but no shared object; link it with -shared");
  }
  if (header_.e_phentsize != sizeof(Elf64_Phdr) || header_.e_phnum == 0 ||
      header_.e_phnum > kMostSegments) {
    return Damaged("its program headers make no sense");
  }
  segments_.resize(header_.e_phnum);
  return ReadFile(header_.e_phoff, segments_.data(), segments_.size() * sizeof(Elf64_Phdr));
}

absl::Status ElfImage::ReadDynamic() {
  const Elf64_Phdr* segment = FindSegment(PT_DYNAMIC);
  if (segment == nullptr) return Wrong("it has nothing to load; link it with -shared");
  const size_t count = segment->p_filesz / sizeof(Elf64_Dyn);
  if (count > kMostDynamicEntries) return Damaged("its dynamic table makes no sense");
  std::vector<Elf64_Dyn> entries(count);
  COHOST_RETURN_IF_ERROR(ReadFile(segment->p_offset, entries.data(), count * sizeof(Elf64_Dyn)));
  for (const Elf64_Dyn& entry : entries) {
    if (entry.d_tag == DT_NULL) return absl::OkStatus();
    dynamic_[entry.d_tag] = entry.d_un.d_val;
    if (entry.d_tag == DT_NEEDED) needed_.push_back(entry.d_un.d_val);
  }
  return Damaged("its dynamic table has no end");
}

absl::Status ElfImage::CheckSectionTable(uint64_t size) const {
  if (!Inside(header_.e_shoff, size)) return Cut("its section table lies outside of the file");
  if (header_.e_shstrndx == SHN_UNDEF || header_.e_shstrndx >= header_.e_shnum) {
    return absl::OkStatus();
  }
  if (header_.e_shentsize != sizeof(Elf64_Shdr)) return Damaged("its section table makes no sense");
  Elf64_Shdr names;
  COHOST_RETURN_IF_ERROR(ReadFile(header_.e_shoff + uint64_t{header_.e_shstrndx} * sizeof names,
                                  &names, sizeof names));
  // A file that got its size before its content has zeros where the copy was interrupted.
  if (names.sh_type != SHT_STRTAB) return Cut("its section table is not there");
  return absl::OkStatus();
}

absl::Status ElfImage::CheckWhole() const {
  // Not loaded, but at the end: where it is missing, the copy was interrupted.
  const uint64_t sections = uint64_t{header_.e_shnum} * header_.e_shentsize;
  if (header_.e_shoff != 0) COHOST_RETURN_IF_ERROR(CheckSectionTable(sections));
  uint64_t end = header_.e_shoff + sections;
  uint64_t memory_end = 0;
  for (const Elf64_Phdr& segment : segments_) {
    if (!Inside(segment.p_offset, segment.p_filesz)) {
      return Cut(absl::StrCat("a segment of ", segment.p_filesz, " bytes begins at byte ",
                              segment.p_offset, " of ", size_));
    }
    end = std::max(end, segment.p_offset + segment.p_filesz);
    if (segment.p_type == PT_LOAD) COHOST_RETURN_IF_ERROR(CheckLoad(segment, &memory_end));
  }
  if (memory_end == 0) return Wrong("it has nothing to load; link it with -shared");
  if (size_ - std::min(end, size_) > kMostBehindEnd) {
    return Damaged(absl::StrCat("it has ", size_ - end, " bytes behind its end"));
  }
  return absl::OkStatus();
}

const Elf64_Phdr* ElfImage::FindSegment(uint32_t type) const {
  const auto found = std::find_if(segments_.begin(), segments_.end(),
                                  [&](const Elf64_Phdr& s) { return s.p_type == type; });
  return found == segments_.end() ? nullptr : &*found;
}

const Elf64_Phdr* ElfImage::SegmentOf(uint64_t address, uint64_t length) const {
  for (const Elf64_Phdr& segment : segments_) {
    if (segment.p_type != PT_LOAD || address < segment.p_vaddr) continue;
    const uint64_t inside = address - segment.p_vaddr;
    if (inside <= segment.p_memsz && length <= segment.p_memsz - inside) return &segment;
  }
  return nullptr;
}

std::optional<uint64_t> ElfImage::Dynamic(int64_t tag) const {
  const auto it = dynamic_.find(tag);
  if (it == dynamic_.end()) return std::nullopt;
  return it->second;
}

bool ElfImage::HasFlag(int64_t tag, uint64_t flag) const {
  return (Dynamic(tag).value_or(0) & flag) != 0;
}

absl::StatusOr<uint64_t> ElfImage::OffsetOf(uint64_t address, uint64_t length) const {
  const Elf64_Phdr* segment = SegmentOf(address, length);
  if (segment == nullptr || address - segment->p_vaddr > segment->p_filesz ||
      length > segment->p_filesz - (address - segment->p_vaddr)) {
    return Damaged("one of its tables lies outside of what is loaded");
  }
  return segment->p_offset + (address - segment->p_vaddr);
}

absl::Status ElfImage::ReadLoaded(uint64_t address, void* to, size_t length) const {
  COHOST_ASSIGN_OR_RETURN(const uint64_t offset, OffsetOf(address, length));
  return ReadFile(offset, to, length);
}

absl::StatusOr<std::string> ElfImage::ReadStrings() const {
  const uint64_t length = Dynamic(DT_STRSZ).value_or(0);
  if (length > kMostStrings) return Damaged("its table of strings is too large");
  const uint64_t address = Dynamic(DT_STRTAB).value_or(0);
  COHOST_RETURN_IF_ERROR(OffsetOf(address, length).status());
  std::string strings(length, '\0');
  COHOST_RETURN_IF_ERROR(ReadLoaded(address, strings.data(), length));
  return strings;
}

absl::StatusOr<std::string> ElfImage::StringAt(uint64_t offset) const {
  const uint64_t whole = Dynamic(DT_STRSZ).value_or(0);
  if (offset >= whole) return Damaged("one of its strings lies outside of their table");
  std::string text(std::min(whole - offset, kLongestString), '\0');
  // The sum may wrap: then it is an address that no segment has.
  COHOST_RETURN_IF_ERROR(
      ReadLoaded(Dynamic(DT_STRTAB).value_or(0) + offset, text.data(), text.size()));
  const size_t end = text.find('\0');
  if (end == std::string::npos) return Damaged("one of its strings has no end");
  text.resize(end);
  return text;
}

}  // namespace cohost::supervisor
