// SPDX-License-Identifier: Apache-2.0
#include "worker/native/loader/data_images.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/system/unique_fd.h"

namespace cohost::worker::native {

absl::StatusOr<std::string_view> DataImages::Map(const std::string& path) {
  MutexLock lock(mutex_);
  const auto known = images_.find(path);
  if (known != images_.end()) return known->second;
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return ErrnoStatus(errno, "open", path);
  struct stat status = {};
  if (::fstat(fd.get(), &status) != 0) return ErrnoStatus(errno, "stat", path);
  if (!S_ISREG(status.st_mode) || status.st_size == 0) {
    return absl::FailedPreconditionError(absl::StrCat(path, ": not a file with content"));
  }
  const auto size = static_cast<size_t>(status.st_size);
  void* base = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd.get(), 0);
  if (base == MAP_FAILED) return ErrnoStatus(errno, "mmap", path);
  const std::string_view bytes(static_cast<const char*>(base), size);
  images_.emplace(path, bytes);
  return bytes;
}

void DataImages::ReleasePages() {
  MutexLock lock(mutex_);
  for (const auto& [path, bytes] : images_) {
    // Ignoring a refusal: the pages stay mapped, which costs memory and nothing else.
    (void)madvise(const_cast<char*>(bytes.data()), bytes.size(), MADV_DONTNEED);
  }
}

}  // namespace cohost::worker::native
