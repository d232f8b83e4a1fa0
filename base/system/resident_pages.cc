// SPDX-License-Identifier: Apache-2.0
#include "base/system/resident_pages.h"

#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/system/unique_fd.h"

namespace cohost {
namespace {

// Whether the loader wrote into the read-only segments: those pages are not the file's any more.
bool HasTextRelocations(const dl_phdr_info& info) {
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    if (info.dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    const auto* entry =
        reinterpret_cast<const ElfW(Dyn)*>(info.dlpi_addr + info.dlpi_phdr[i].p_vaddr);
    for (; entry->d_tag != DT_NULL; ++entry) {
      if (entry->d_tag == DT_TEXTREL) return true;
      if (entry->d_tag == DT_FLAGS && (entry->d_un.d_val & DF_TEXTREL) != 0) return true;
    }
  }
  return false;
}

// What the kernel has for each page of this process (its documentation, admin-guide/mm/pagemap).
class PageMap {
 public:
  PageMap() : file_(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)) {}

  // Gives back those pages of [begin, end) that are the file's own. A page that was ever written,
  // as CoreCLR writes to its constants once, is anonymous memory instead and would be lost.
  void ReleaseFilePages(uintptr_t begin, uintptr_t end) const {
    std::array<uint64_t, 512> entries;
    while (begin < end) {
      const size_t wanted = std::min(entries.size(), (end - begin) / page_size_);
      const ssize_t size = ::pread(file_.get(), entries.data(), wanted * sizeof(uint64_t),
                                   static_cast<off_t>(begin / page_size_ * sizeof(uint64_t)));
      // Ignoring: without the map nothing is given back, which costs memory and nothing else.
      if (size <= 0) return;
      const size_t count = static_cast<size_t>(size) / sizeof(uint64_t);
      ReleaseRuns(begin, {entries.data(), count});
      begin += count * page_size_;
    }
  }

 private:
  void ReleaseRuns(uintptr_t begin, std::span<const uint64_t> entries) const {
    constexpr uint64_t kPresent = uint64_t{1} << 63;
    constexpr uint64_t kOfFile = uint64_t{1} << 61;
    constexpr uint64_t kWanted = kPresent | kOfFile;
    for (size_t i = 0; i < entries.size();) {
      size_t end = i;
      while (end < entries.size() && (entries[end] & kWanted) == kWanted) ++end;
      // Ignoring a refusal, as above.
      if (end > i) {
        (void)::madvise(reinterpret_cast<void*>(begin + i * page_size_), (end - i) * page_size_,
                        MADV_DONTNEED);
      }
      i = end + 1;
    }
  }

  const uintptr_t page_size_ = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const UniqueFd file_;
};

// Called for each loaded object, under the loader's lock; 0 goes on to the next.
int ReleaseReadOnlySegments(dl_phdr_info* info, size_t, void* page_map) {
  if (HasTextRelocations(*info)) return 0;
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    // Data that is made read-only after its relocation (RELRO) lies in writable segments.
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
    const uintptr_t begin = (info->dlpi_addr + segment.p_vaddr + page - 1) & ~(page - 1);
    const uintptr_t end = (info->dlpi_addr + segment.p_vaddr + segment.p_memsz) & ~(page - 1);
    // Whole pages only: the next segment may begin in the last one.
    if (begin < end) static_cast<const PageMap*>(page_map)->ReleaseFilePages(begin, end);
  }
  return 0;
}

}  // namespace

void ReleaseStartupPages() {
  PageMap page_map;
  dl_iterate_phdr(ReleaseReadOnlySegments, &page_map);
  malloc_trim(0);
}

}  // namespace cohost
