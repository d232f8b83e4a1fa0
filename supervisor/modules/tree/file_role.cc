// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/tree/file_role.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/status.h"
#include "base/system/file.h"

namespace cohost::supervisor {

namespace {

// The identifiers of systems whose assets the runtime takes on this machine.
constexpr std::string_view kOwnSystems[] = {"any",   "base",      "unix",
                                            "linux", "linux-x64", "unix-x64"};

// What is behind the end of the file is zero.
absl::Status ReadZeroed(int fd, uint64_t offset, void* to, size_t size) {
  std::memset(to, 0, size);
  return ReadAt(fd, offset, to, size).status();
}

template <typename Number>
Number At(const unsigned char* bytes, size_t offset) {
  Number number;
  std::memcpy(&number, bytes + offset, sizeof number);  // little endian, as this machine is
  return number;
}

enum class Image { kNone, kPe, kAssembly };

// Only what tells an assembly from other files: whether it is a whole one is for the store.
absl::StatusOr<Image> ImageOf(int fd) {
  constexpr size_t kOptional = 24;       // after "PE\0\0" and the file header
  constexpr size_t kDirectories32 = 96;  // in the optional header
  constexpr size_t kDirectories64 = 112;
  constexpr uint32_t kCliHeader = 14;
  unsigned char dos[64];
  COHOST_RETURN_IF_ERROR(ReadZeroed(fd, 0, dos, sizeof dos));
  if (std::memcmp(dos, "MZ", 2) != 0) return Image::kNone;
  unsigned char pe[kOptional + kDirectories64 + 8 * (kCliHeader + 1)];
  COHOST_RETURN_IF_ERROR(ReadZeroed(fd, At<uint32_t>(dos, 60), pe, sizeof pe));
  if (std::memcmp(pe, "PE\0\0", 4) != 0) return Image::kNone;
  const auto magic = At<uint16_t>(pe, kOptional);
  if (magic != 0x10B && magic != 0x20B) return Image::kPe;
  const size_t directories = kOptional + (magic == 0x10B ? kDirectories32 : kDirectories64);
  if (At<uint32_t>(pe, directories - 4) <= kCliHeader) return Image::kPe;
  return At<uint32_t>(pe, directories + 8 * kCliHeader) == 0 ? Image::kPe : Image::kAssembly;
}

bool EndsInAnyCase(std::string_view path, std::string_view ending) {
  return path.size() >= ending.size() &&
         std::equal(ending.begin(), ending.end(),
                    path.end() - static_cast<ptrdiff_t>(ending.size()),
                    [](char a, char b) { return a == (b >= 'A' && b <= 'Z' ? b - 'A' + 'a' : b); });
}

bool IsOfAnotherSystem(std::string_view path) {
  constexpr std::string_view kFolder = "runtimes/";
  if (!path.starts_with(kFolder)) return false;
  const std::string_view rest = path.substr(kFolder.size());
  const std::string_view system = rest.substr(0, rest.find('/'));
  return std::find(std::begin(kOwnSystems), std::end(kOwnSystems), system) == std::end(kOwnSystems);
}

}  // namespace

absl::StatusOr<FileRole> RoleOf(int fd, const std::string& path, mode_t mode) {
  const bool executable = (mode & 0111) != 0;
  FileRole role;
  role.kind = executable ? StoredKind::kProgram : StoredKind::kFile;
  role.mode = executable ? 0555 : 0444;
  char magic[4];
  COHOST_RETURN_IF_ERROR(ReadZeroed(fd, 0, magic, sizeof magic));
  COHOST_ASSIGN_OR_RETURN(const Image image, ImageOf(fd));
  if (image == Image::kAssembly && !IsOfAnotherSystem(path) &&
      (EndsInAnyCase(path, ".dll") || EndsInAnyCase(path, ".exe"))) {
    // The runtime reads it; nobody executes it.
    return FileRole{StoredKind::kAssembly, Placing::kLink, 0444};
  }
  if (image != Image::kNone || std::memcmp(magic, "\177ELF", 4) == 0 ||
      (executable && std::memcmp(magic, "#!", 2) == 0) || path.starts_with("wwwroot/") ||
      EndsInAnyCase(path, ".pdb")) {
    role.placing = Placing::kLink;
  }
  return role;
}

}  // namespace cohost::supervisor
