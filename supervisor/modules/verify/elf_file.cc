// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/verify/elf_file.h"

#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/strings.h"

namespace cohost::supervisor {

namespace {

constexpr size_t kMostSegments = 128;
constexpr size_t kMostDynamicEntries = 4096;
constexpr size_t kMostSymbols = size_t{1} << 20;
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

class ElfFile {
 public:
  static absl::StatusOr<ElfFile> Open(int fd);

  absl::Status CheckSegments() const;
  absl::Status ReadDynamic();
  absl::Status CheckTables() const;
  absl::Status ReadSymbols();
  absl::Status FindFunction(const std::string& name) const;
  std::vector<std::string> Warnings() const;

 private:
  ElfFile(int fd, uint64_t size) : fd_(fd), size_(size) {}

  absl::Status ReadHeader();
  absl::Status CheckEnd(const Elf64_Ehdr& header) const;
  absl::Status CheckLoad(const Elf64_Phdr& segment, uint64_t* memory_end) const;
  bool Inside(uint64_t offset, uint64_t length) const {
    return offset <= size_ && length <= size_ - offset;
  }
  absl::Status Read(uint64_t offset, void* to, size_t length) const;
  // From where `length` bytes of that address are loaded; all of them have to come from the file.
  absl::StatusOr<uint64_t> OffsetOf(uint64_t address, uint64_t length) const;
  template <typename T>
  absl::StatusOr<std::vector<T>> ReadTable(uint64_t address, size_t count) const;
  std::optional<uint64_t> Dynamic(int64_t tag) const;
  absl::StatusOr<size_t> CountByGnuHash(uint64_t address) const;
  absl::StatusOr<size_t> CountSymbols() const;

  const int fd_;
  const uint64_t size_;
  std::vector<Elf64_Phdr> segments_;
  std::map<int64_t, uint64_t> dynamic_;
  std::vector<Elf64_Sym> symbols_;
};

absl::Status ElfFile::Read(uint64_t offset, void* to, size_t length) const {
  if (!Inside(offset, length)) return Wrong("it is cut: a part lies outside of the file");
  size_t done = 0;
  while (done < length) {
    const ssize_t n = ::pread(fd_, static_cast<char*>(to) + done, length - done,
                              static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, "pread", "");
    if (n == 0) return Wrong("it became shorter while it was read");
    done += static_cast<size_t>(n);
  }
  return absl::OkStatus();
}

absl::StatusOr<ElfFile> ElfFile::Open(int fd) {
  struct stat status;
  if (::fstat(fd, &status) != 0) return ErrnoStatus(errno, "fstat", "");
  ElfFile file(fd, static_cast<uint64_t>(status.st_size));
  COHOST_RETURN_IF_ERROR(file.ReadHeader());
  return file;
}

absl::Status ElfFile::ReadHeader() {
  Elf64_Ehdr header;
  if (size_ < sizeof header) return Wrong("it is too short for an ELF header");
  COHOST_RETURN_IF_ERROR(Read(0, &header, sizeof header));
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return Wrong("it is not an ELF file");
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_ident[EI_VERSION] != EV_CURRENT || header.e_machine != kMachine) {
    return Wrong("it is an ELF file for another machine");
  }
  if (header.e_type != ET_DYN) return Wrong("it is an ELF file, but no shared object");
  if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum == 0 ||
      header.e_phnum > kMostSegments) {
    return Wrong("its program headers make no sense");
  }
  segments_.resize(header.e_phnum);
  COHOST_RETURN_IF_ERROR(
      Read(header.e_phoff, segments_.data(), segments_.size() * sizeof(Elf64_Phdr)));
  return CheckEnd(header);
}

absl::Status ElfFile::CheckEnd(const Elf64_Ehdr& header) const {
  // Not loaded, but at the end: where it is missing, the copy was interrupted.
  const uint64_t sections = uint64_t{header.e_shnum} * header.e_shentsize;
  if (header.e_shoff != 0 && !Inside(header.e_shoff, sections)) {
    return Wrong("it is cut: its section table lies outside of the file");
  }
  uint64_t end = header.e_shoff + sections;
  for (const Elf64_Phdr& segment : segments_) {
    if (Inside(segment.p_offset, segment.p_filesz)) {
      end = std::max(end, segment.p_offset + segment.p_filesz);
    }
  }
  if (size_ - std::min(end, size_) > kMostBehindEnd) {
    return Wrong(absl::StrCat("it has ", size_ - end, " bytes behind its end"));
  }
  return absl::OkStatus();
}

absl::Status ElfFile::CheckLoad(const Elf64_Phdr& segment, uint64_t* memory_end) const {
  if (segment.p_memsz < segment.p_filesz || segment.p_memsz > kMostMemory ||
      segment.p_vaddr > kMostMemory || segment.p_vaddr < *memory_end) {
    return Wrong("a segment's place in memory makes no sense");
  }
  if (segment.p_align == 0 || (segment.p_align & (segment.p_align - 1)) != 0 ||
      segment.p_align % kPage != 0 || (segment.p_vaddr - segment.p_offset) % segment.p_align != 0) {
    return Wrong("a segment's alignment makes no sense");
  }
  *memory_end = segment.p_vaddr + segment.p_memsz;
  return absl::OkStatus();
}

absl::Status ElfFile::CheckSegments() const {
  uint64_t memory_end = 0;
  size_t loads = 0;
  size_t dynamics = 0;
  for (const Elf64_Phdr& segment : segments_) {
    if (!Inside(segment.p_offset, segment.p_filesz)) {
      return Wrong(absl::StrCat("it is cut: a segment ends at byte ",
                                segment.p_offset + segment.p_filesz, " of ", size_));
    }
    if (segment.p_type == PT_LOAD) {
      ++loads;
      COHOST_RETURN_IF_ERROR(CheckLoad(segment, &memory_end));
    }
    if (segment.p_type == PT_DYNAMIC) ++dynamics;
  }
  if (loads == 0 || dynamics != 1) return Wrong("it has nothing to load");
  return absl::OkStatus();
}

absl::Status ElfFile::ReadDynamic() {
  const auto segment = std::find_if(segments_.begin(), segments_.end(),
                                    [](const Elf64_Phdr& s) { return s.p_type == PT_DYNAMIC; });
  const size_t count = segment->p_filesz / sizeof(Elf64_Dyn);
  if (count > kMostDynamicEntries) return Wrong("its dynamic table makes no sense");
  std::vector<Elf64_Dyn> entries(count);
  COHOST_RETURN_IF_ERROR(Read(segment->p_offset, entries.data(), count * sizeof(Elf64_Dyn)));
  for (const Elf64_Dyn& entry : entries) {
    if (entry.d_tag == DT_NULL) return absl::OkStatus();
    dynamic_[entry.d_tag] = entry.d_un.d_val;
  }
  return Wrong("its dynamic table has no end");
}

std::optional<uint64_t> ElfFile::Dynamic(int64_t tag) const {
  const auto it = dynamic_.find(tag);
  if (it == dynamic_.end()) return std::nullopt;
  return it->second;
}

absl::StatusOr<uint64_t> ElfFile::OffsetOf(uint64_t address, uint64_t length) const {
  for (const Elf64_Phdr& segment : segments_) {
    if (segment.p_type != PT_LOAD || address < segment.p_vaddr) continue;
    const uint64_t inside = address - segment.p_vaddr;
    if (inside <= segment.p_filesz && length <= segment.p_filesz - inside) {
      return segment.p_offset + inside;
    }
  }
  return Wrong("one of its tables lies outside of what is loaded");
}

template <typename T>
absl::StatusOr<std::vector<T>> ElfFile::ReadTable(uint64_t address, size_t count) const {
  if (count > kMostSymbols) return Wrong("one of its tables is too large");
  COHOST_ASSIGN_OR_RETURN(const uint64_t offset, OffsetOf(address, count * sizeof(T)));
  std::vector<T> table(count);
  COHOST_RETURN_IF_ERROR(Read(offset, table.data(), count * sizeof(T)));
  return table;
}

// What the loader reads before it can report anything.
absl::Status ElfFile::CheckTables() const {
  // DT_RELR and DT_RELRSZ by number: older headers do not name them.
  constexpr std::pair<int64_t, int64_t> kTables[] = {
      {DT_RELA, DT_RELASZ},  {DT_JMPREL, DT_PLTRELSZ},         {36, 35},
      {DT_STRTAB, DT_STRSZ}, {DT_INIT_ARRAY, DT_INIT_ARRAYSZ}, {DT_FINI_ARRAY, DT_FINI_ARRAYSZ}};
  for (const auto& [address, length] : kTables) {
    if (!Dynamic(address).has_value()) continue;
    const auto offset = OffsetOf(*Dynamic(address), Dynamic(length).value_or(0));
    if (!offset.ok()) return offset.status();
  }
  if ((Dynamic(DT_FLAGS_1).value_or(0) & DF_1_PIE) != 0) {
    return Wrong("it is a program, not a shared object");
  }
  if (!Dynamic(DT_STRTAB).has_value() || !Dynamic(DT_SYMTAB).has_value()) {
    return Wrong("it has no symbols");
  }
  return absl::OkStatus();
}

// Symbols up to the last one of the hash table: buckets hold the first symbol of their chain, a
// chain ends with an odd hash, and chains follow one another.
absl::StatusOr<size_t> ElfFile::CountByGnuHash(uint64_t address) const {
  COHOST_ASSIGN_OR_RETURN(const auto header, ReadTable<uint32_t>(address, 4));
  const uint32_t bucket_count = header[0];
  const uint32_t first_symbol = header[1];
  const uint64_t buckets_at = address + 16 + uint64_t{header[2]} * 8;
  COHOST_ASSIGN_OR_RETURN(const auto buckets, ReadTable<uint32_t>(buckets_at, bucket_count));
  if (buckets.empty()) return size_t{first_symbol};
  uint64_t symbol = *std::max_element(buckets.begin(), buckets.end());
  if (symbol < first_symbol) return size_t{first_symbol};
  const uint64_t chains_at = buckets_at + uint64_t{bucket_count} * 4;
  while (symbol < kMostSymbols) {
    COHOST_ASSIGN_OR_RETURN(const auto hash,
                            ReadTable<uint32_t>(chains_at + (symbol - first_symbol) * 4, 1));
    ++symbol;
    if ((hash[0] & 1) != 0) return static_cast<size_t>(symbol);
  }
  return Wrong("its symbol hash table has no end");
}

absl::StatusOr<size_t> ElfFile::CountSymbols() const {
  if (const auto address = Dynamic(DT_GNU_HASH)) return CountByGnuHash(*address);
  if (const auto address = Dynamic(DT_HASH)) {
    COHOST_ASSIGN_OR_RETURN(const auto header, ReadTable<uint32_t>(*address, 2));
    return size_t{header[1]};
  }
  return Wrong("it has no symbol hash table");
}

absl::Status ElfFile::ReadSymbols() {
  COHOST_ASSIGN_OR_RETURN(const size_t count, CountSymbols());
  COHOST_ASSIGN_OR_RETURN(symbols_, ReadTable<Elf64_Sym>(*Dynamic(DT_SYMTAB), count));
  return absl::OkStatus();
}

absl::Status ElfFile::FindFunction(const std::string& name) const {
  const uint64_t strings = *Dynamic(DT_STRTAB);
  const uint64_t strings_size = Dynamic(DT_STRSZ).value_or(0);
  for (const Elf64_Sym& symbol : symbols_) {
    const unsigned char binding = ELF64_ST_BIND(symbol.st_info);
    if (symbol.st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol.st_info) != STT_FUNC ||
        (binding != STB_GLOBAL && binding != STB_WEAK)) {
      continue;
    }
    const size_t length = name.size() + 1;
    if (symbol.st_name > strings_size || length > strings_size - symbol.st_name) continue;
    COHOST_ASSIGN_OR_RETURN(const auto text, ReadTable<char>(strings + symbol.st_name, length));
    if (std::memcmp(text.data(), name.c_str(), length) == 0) return absl::OkStatus();
  }
  return Wrong(absl::StrCat("it does not define the function ", name));
}

std::vector<std::string> ElfFile::Warnings() const {
  std::vector<std::string> warnings;
  const uint64_t flags = Dynamic(DT_FLAGS).value_or(0);
  if ((flags & DF_STATIC_TLS) != 0) {
    warnings.push_back(
        "it uses static thread-local storage, of which a process has little: build it without "
        "-ftls-model=initial-exec");
  }
  if ((flags & DF_TEXTREL) != 0 || Dynamic(DT_TEXTREL).has_value()) {
    warnings.push_back("its code has relocations and cannot be shared: build it with -fPIC");
  }
  if (std::any_of(symbols_.begin(), symbols_.end(), [](const Elf64_Sym& symbol) {
        return ELF64_ST_BIND(symbol.st_info) == STB_GNU_UNIQUE;
      })) {
    warnings.push_back(
        "it shares static variables of inline functions with other modules: build it with "
        "-fno-gnu-unique");
  }
  return warnings;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> CheckSharedObject(int fd, const std::string& entry_point) {
  COHOST_ASSIGN_OR_RETURN(ElfFile file, ElfFile::Open(fd));
  COHOST_RETURN_IF_ERROR(file.CheckSegments());
  COHOST_RETURN_IF_ERROR(file.ReadDynamic());
  COHOST_RETURN_IF_ERROR(file.CheckTables());
  COHOST_RETURN_IF_ERROR(file.ReadSymbols());
  COHOST_RETURN_IF_ERROR(file.FindFunction(entry_point));
  return file.Warnings();
}

}  // namespace cohost::supervisor
