// SPDX-License-Identifier: Apache-2.0
#include "supervisor/pool/generation/sealed_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/status.h"

namespace cohost::supervisor {
namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

}  // namespace

absl::StatusOr<UniqueFd> MakeSealedMemory(const std::string& name, size_t size) {
  UniqueFd memory(memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory.valid()) return ErrnoStatus(errno, "memfd_create", name);
  if (ftruncate(memory.get(), static_cast<off_t>(size)) != 0) {
    return ErrnoStatus(errno, "ftruncate", name);
  }
  if (fcntl(memory.get(), F_ADD_SEALS, kSeals) != 0) {
    return ErrnoStatus(errno, "fcntl(F_ADD_SEALS)", name);
  }
  return memory;
}

absl::StatusOr<size_t> SealedMemorySize(int descriptor) {
  const int seals = fcntl(descriptor, F_GET_SEALS);
  if (seals < 0) return absl::InvalidArgumentError("not a memfd");
  if ((seals & kSeals) != kSeals) return absl::InvalidArgumentError("the memfd is not sealed");
  struct stat status = {};
  if (fstat(descriptor, &status) != 0) return ErrnoStatus(errno, "fstat", "memfd");
  return static_cast<size_t>(status.st_size);
}

}  // namespace cohost::supervisor
