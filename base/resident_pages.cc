// SPDX-License-Identifier: Apache-2.0
#include "base/resident_pages.h"

#include <link.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

namespace cohost {
namespace {

// Called for the executable first; a result other than 0 ends the walk.
int ReleaseReadOnlySegments(dl_phdr_info* info, size_t, void*) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    // What was ever written (relocations, data) would be lost, so only segments that cannot be.
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
    const uintptr_t begin = (info->dlpi_addr + segment.p_vaddr) & ~(page - 1);
    const uintptr_t end = info->dlpi_addr + segment.p_vaddr + segment.p_memsz;
    // Ignoring a refusal: the pages stay mapped, which costs memory and nothing else.
    (void)madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
  }
  return 1;
}

}  // namespace

void ReleaseStartupPages() {
  dl_iterate_phdr(ReleaseReadOnlySegments, nullptr);
  malloc_trim(0);
}

}  // namespace cohost
