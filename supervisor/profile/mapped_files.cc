// SPDX-License-Identifier: Apache-2.0
#include "supervisor/profile/mapped_files.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "base/system/file.h"

namespace cohost::supervisor {
namespace {

// Mapped at once: so many lines more in a file of some hundred.
constexpr size_t kBatch = 256;
constexpr uint64_t kPage = 4096;
constexpr size_t kMostSegments = 64;
constexpr Bytes kLargestMaps = MiB(64);

uint64_t PageUp(uint64_t address) { return (address + kPage - 1) & ~(kPage - 1); }

// One page of a file, mapped.
class MappedPage {
 public:
  explicit MappedPage(int fd) : page_(::mmap(nullptr, kPage, PROT_READ, MAP_PRIVATE, fd, 0)) {}
  MappedPage(MappedPage&& other) noexcept : page_(std::exchange(other.page_, MAP_FAILED)) {}
  MappedPage& operator=(MappedPage&&) = delete;
  ~MappedPage() {
    if (page_ != MAP_FAILED) (void)::munmap(page_, kPage);
  }
  bool valid() const { return page_ != MAP_FAILED; }
  uint64_t address() const { return reinterpret_cast<uint64_t>(page_); }

 private:
  void* page_;
};

// 0 when it is no 64-bit ELF file or not a whole one: then nothing is told of it.
Bytes BssOf(int fd) {
  Elf64_Ehdr header;
  if (::pread(fd, &header, sizeof header, 0) != sizeof header ||
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_phentsize != sizeof(Elf64_Phdr)) {
    return {};
  }
  std::array<Elf64_Phdr, kMostSegments> segments;
  const size_t count = std::min<size_t>(header.e_phnum, segments.size());
  const auto size = static_cast<ssize_t>(count * sizeof(Elf64_Phdr));
  if (::pread(fd, segments.data(), static_cast<size_t>(size), static_cast<off_t>(header.e_phoff)) !=
      size) {
    return {};
  }
  Bytes bss;
  for (size_t i = 0; i < count; ++i) {
    const Elf64_Phdr& segment = segments[i];
    if (segment.p_type != PT_LOAD || segment.p_memsz <= segment.p_filesz) continue;
    bss.count +=
        PageUp(segment.p_vaddr + segment.p_memsz) - PageUp(segment.p_vaddr + segment.p_filesz);
  }
  return bss;
}

absl::StatusOr<std::map<uint64_t, FileIdentity>> OwnMappings() {
  COHOST_ASSIGN_OR_RETURN(const std::string text, ReadRegularFile("/proc/self/maps", kLargestMaps));
  std::map<uint64_t, FileIdentity> files;
  std::string_view rest = text;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    if (const auto mapping = ParseMappingLine(rest.substr(0, end))) {
      files[mapping->begin] = mapping->file;
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return files;
}

absl::Status IdentifyBatch(const std::string* paths, size_t count,
                           std::vector<std::optional<MappedFile>>& out) {
  // Two mappings of one file side by side could be joined to one line: each has its own offset 0,
  // so they are not.
  std::vector<std::optional<MappedPage>> pages(count);
  std::vector<Bytes> bss(count);
  for (size_t i = 0; i < count; ++i) {
    const auto fd = OpenFile(paths[i], O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (!fd.ok()) continue;
    MappedPage page(fd->get());
    if (!page.valid()) continue;
    bss[i] = BssOf(fd->get());
    pages[i].emplace(std::move(page));
  }
  COHOST_ASSIGN_OR_RETURN(const auto mappings, OwnMappings());
  for (size_t i = 0; i < count; ++i) {
    std::optional<MappedFile>& file = out.emplace_back();
    if (!pages[i]) continue;
    const auto found = mappings.find(pages[i]->address());
    if (found == mappings.end() || found->second.inode == 0) continue;
    file = MappedFile{found->second, bss[i]};
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<std::optional<MappedFile>>> IdentifyMappedFiles(
    const std::vector<std::string>& paths) {
  std::vector<std::optional<MappedFile>> files;
  files.reserve(paths.size());
  for (size_t first = 0; first < paths.size(); first += kBatch) {
    COHOST_RETURN_IF_ERROR(
        IdentifyBatch(paths.data() + first, std::min(kBatch, paths.size() - first), files));
  }
  return files;
}

}  // namespace cohost::supervisor
