// SPDX-License-Identifier: Apache-2.0
#include "base/build_id.h"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace cohost {
namespace {

constexpr size_t kDigestBytes = 16;

size_t Padded(size_t size) { return (size + 3) & ~size_t{3}; }

std::string Hex(const unsigned char* bytes, size_t size) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (size_t i = 0; i < size; ++i) {
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 15];
  }
  return text;
}

// The build id among the notes of one PT_NOTE segment; empty when it is not there.
std::string FindInNotes(const unsigned char* notes, size_t size) {
  while (size >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes, sizeof(note));
    const size_t whole = sizeof(note) + Padded(note.n_namesz) + Padded(note.n_descsz);
    if (whole > size) return "";
    const unsigned char* const name = notes + sizeof(note);
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof(ELF_NOTE_GNU) &&
        std::memcmp(name, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) == 0) {
      return Hex(name + Padded(note.n_namesz), std::min<size_t>(note.n_descsz, kDigestBytes));
    }
    notes += whole;
    size -= whole;
  }
  return "";
}

// Called for the executable first; a result other than 0 ends the walk.
int Visit(dl_phdr_info* info, size_t, void* result) {
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    const auto* const notes =
        reinterpret_cast<const unsigned char*>(info->dlpi_addr + segment.p_vaddr);
    std::string found = FindInNotes(notes, segment.p_memsz);
    if (!found.empty()) *static_cast<std::string*>(result) = std::move(found);
  }
  return 1;
}

}  // namespace

std::string BuildId() {
  std::string id = "unknown";
  (void)::dl_iterate_phdr(Visit, &id);
  return id;
}

}  // namespace cohost
