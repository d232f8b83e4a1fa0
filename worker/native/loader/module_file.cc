// SPDX-License-Identifier: Apache-2.0
#include "worker/native/loader/module_file.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/system/file.h"
#include "base/system/unique_fd.h"

namespace cohost::worker::native {
namespace {

#if defined(__x86_64__)
constexpr uint16_t kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr uint16_t kMachine = EM_AARCH64;
#else
#error "native modules are not known for this machine"
#endif

// Real modules have about ten; a bound keeps a hostile header from making us read much.
constexpr uint16_t kMaxProgramHeaders = 128;
constexpr uint64_t kMaxDynamicBytes = 1 << 20;

absl::Status Refused(const std::string& path, const std::string& why) {
  return absl::FailedPreconditionError(absl::StrCat(path, ": ", why));
}

absl::Status ReadAll(int fd, const std::string& path, uint64_t offset, void* out, size_t size) {
  const auto got = ReadAt(fd, offset, out, size);
  if (!got.ok()) return Annotate(got.status(), path);
  if (*got < size) return Refused(path, "the file is cut off; copy it again");
  return absl::OkStatus();
}

absl::Status CheckHeader(const std::string& path, const Elf64_Ehdr& header) {
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
    return Refused(path, "not a shared object; `module:` must name a .so file");
  }
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_machine != kMachine) {
    return Refused(path, "built for another machine; build it on this architecture");
  }
  if (header.e_type != ET_DYN) {
    return Refused(path, "not a shared object; link it with -shared");
  }
  if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum == 0 ||
      header.e_phnum > kMaxProgramHeaders) {
    return Refused(path, "damaged program headers; copy the file again");
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> HasStaticTls(int fd, const std::string& path, const Elf64_Phdr& dynamic) {
  if (dynamic.p_filesz > kMaxDynamicBytes) return Refused(path, "damaged dynamic section");
  std::vector<Elf64_Dyn> entries(dynamic.p_filesz / sizeof(Elf64_Dyn));
  COHOST_RETURN_IF_ERROR(
      ReadAll(fd, path, dynamic.p_offset, entries.data(), entries.size() * sizeof(Elf64_Dyn)));
  for (const Elf64_Dyn& entry : entries) {
    if (entry.d_tag == DT_NULL) break;
    if (entry.d_tag == DT_FLAGS) return (entry.d_un.d_val & DF_STATIC_TLS) != 0;
  }
  return false;
}

}  // namespace

absl::StatusOr<ModuleFile> InspectModuleFile(const std::string& path) {
  // O_NONBLOCK: opening a FIFO would wait for a writer.
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return ErrnoStatus(errno, "open", path);
  struct stat status = {};
  if (::fstat(fd.get(), &status) != 0) return ErrnoStatus(errno, "stat", path);
  if (!S_ISREG(status.st_mode)) return Refused(path, "not a regular file");
  const auto size = static_cast<uint64_t>(status.st_size);

  Elf64_Ehdr header = {};
  COHOST_RETURN_IF_ERROR(ReadAll(fd.get(), path, 0, &header, sizeof(header)));
  COHOST_RETURN_IF_ERROR(CheckHeader(path, header));
  std::vector<Elf64_Phdr> segments(header.e_phnum);
  COHOST_RETURN_IF_ERROR(ReadAll(fd.get(), path, header.e_phoff, segments.data(),
                                 segments.size() * sizeof(Elf64_Phdr)));
  ModuleFile file;
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_offset > size || segment.p_filesz > size - segment.p_offset) {
      return Refused(path,
                     absl::StrCat("cut off: ", size, " bytes, but its headers describe more; ",
                                  "copy it again"));
    }
    if (segment.p_type == PT_TLS) file.tls_bytes = segment.p_memsz;
    if (segment.p_type == PT_DYNAMIC) {
      COHOST_ASSIGN_OR_RETURN(file.needs_static_tls, HasStaticTls(fd.get(), path, segment));
    }
  }
  return file;
}

}  // namespace cohost::worker::native
