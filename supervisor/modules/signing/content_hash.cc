// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/signing/content_hash.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "absl/strings/str_cat.h"
#include "base/sha256.h"
#include "base/status.h"
#include "base/system/file.h"

namespace cohost::supervisor {
namespace {

bool IsSameState(const struct stat& a, const struct stat& b) {
  return a.st_size == b.st_size && a.st_mtim.tv_sec == b.st_mtim.tv_sec &&
         a.st_mtim.tv_nsec == b.st_mtim.tv_nsec && a.st_ctim.tv_sec == b.st_ctim.tv_sec &&
         a.st_ctim.tv_nsec == b.st_ctim.tv_nsec;
}

}  // namespace

bool IsContentHash(std::string_view text) {
  return text.size() == 64 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

absl::StatusOr<std::string> HashOfFile(const std::string& path) {
  // O_NONBLOCK: opening a FIFO that nobody writes would wait for ever.
  COHOST_ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(path, O_RDONLY | O_NONBLOCK | O_NOCTTY));
  struct stat before {};
  if (fstat(fd.get(), &before) != 0) return ErrnoStatus(errno, "fstat", path);
  if (!S_ISREG(before.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat("read '", path, "': not a regular file"));
  }
  constexpr size_t kBlock = 256 * 1024;
  const auto block = std::make_unique<char[]>(kBlock);
  Sha256 hash;
  uint64_t length = 0;
  while (true) {
    const ssize_t got = read(fd.get(), block.get(), kBlock);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoStatus(errno, "read", path);
    if (got == 0) break;
    length += static_cast<uint64_t>(got);
    if (length > kMaxHashedFile.count) {
      return absl::ResourceExhaustedError(
          absl::StrCat("read '", path, "': longer than ", FormatBytes(kMaxHashedFile)));
    }
    hash.Update({block.get(), static_cast<size_t>(got)});
  }
  struct stat after {};
  if (fstat(fd.get(), &after) != 0) return ErrnoStatus(errno, "fstat", path);
  if (!IsSameState(before, after) || static_cast<uint64_t>(after.st_size) != length) {
    return absl::AbortedError(
        absl::StrCat("read '", path, "': the file changed while it was read; try again"));
  }
  return HexDigest(hash.Finish());
}

}  // namespace cohost::supervisor
