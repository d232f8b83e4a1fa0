// SPDX-License-Identifier: Apache-2.0
#include "base/build_id.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/system/file.h"
#include "base/system/unique_fd.h"

namespace cohost {
namespace {

constexpr size_t kDigestBytes = 16;
constexpr char kUnknown[] = "unknown";
// Those of a real file have a few hundred bytes.
constexpr size_t kMostNotes = size_t{64} << 10;

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

// All of `size` bytes at `offset`.
absl::Status ReadAll(int fd, uint64_t offset, void* out, size_t size) {
  COHOST_ASSIGN_OR_RETURN(const size_t got, ReadAt(fd, offset, out, size));
  if (got < size) return absl::InvalidArgumentError("it ends before its own headers say");
  return absl::OkStatus();
}

absl::StatusOr<std::string> FindInFile(int fd) {
  ElfW(Ehdr) header;
  COHOST_RETURN_IF_ERROR(ReadAll(fd, 0, &header, sizeof(header)));
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != (sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32) ||
      header.e_phentsize != sizeof(ElfW(Phdr))) {
    return absl::InvalidArgumentError("it is no ELF file of this machine");
  }
  for (size_t i = 0; i < header.e_phnum; ++i) {
    ElfW(Phdr) segment;
    COHOST_RETURN_IF_ERROR(
        ReadAll(fd, header.e_phoff + i * sizeof(segment), &segment, sizeof(segment)));
    if (segment.p_type != PT_NOTE || segment.p_filesz > kMostNotes) continue;
    std::vector<unsigned char> notes(segment.p_filesz);
    COHOST_RETURN_IF_ERROR(ReadAll(fd, segment.p_offset, notes.data(), notes.size()));
    std::string found = FindInNotes(notes.data(), notes.size());
    if (!found.empty()) return found;
  }
  return std::string(kUnknown);
}

}  // namespace

std::string BuildId() {
  std::string id = kUnknown;
  (void)::dl_iterate_phdr(Visit, &id);
  return id;
}

absl::StatusOr<std::string> BuildIdOfFile(const std::string& path) {
  COHOST_ASSIGN_OR_RETURN(const UniqueFd file, OpenFile(path, O_RDONLY));
  absl::StatusOr<std::string> found = FindInFile(file.get());
  if (!found.ok()) return Annotate(found.status(), path);
  return found;
}

}  // namespace cohost
