// SPDX-License-Identifier: Apache-2.0
#include "base/system/resident_pages.h"

#include <link.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

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

// Called for each loaded object, under the loader's lock; 0 goes on to the next.
int ReleaseReadOnlySegments(dl_phdr_info* info, size_t, void*) {
  if (HasTextRelocations(*info)) return 0;
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    // Data that is made read-only after its relocation (RELRO) lies in writable segments.
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
    const uintptr_t begin = (info->dlpi_addr + segment.p_vaddr + page - 1) & ~(page - 1);
    const uintptr_t end = (info->dlpi_addr + segment.p_vaddr + segment.p_memsz) & ~(page - 1);
    // Whole pages only: the next segment may begin in the last one. Ignoring a refusal: the pages
    // stay mapped, which costs memory and nothing else.
    if (begin < end) (void)madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
  }
  return 0;
}

}  // namespace

void ReleaseStartupPages() {
  dl_iterate_phdr(ReleaseReadOnlySegments, nullptr);
  malloc_trim(0);
}

}  // namespace cohost
