// SPDX-License-Identifier: Apache-2.0
#include "base/system/file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/strings.h"

namespace cohost {
namespace {

std::string FolderOf(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

absl::Status MakeFolder(const std::string& path, mode_t mode) {
  if (mkdir(path.c_str(), mode) == 0) return absl::OkStatus();
  const int error = errno;
  struct stat info {};
  // Looked at only after mkdir failed: another process may have made it in between. Not only
  // EEXIST, since a read-only file system answers EROFS for folders that exist.
  if (stat(path.c_str(), &info) == 0) {
    return S_ISDIR(info.st_mode) ? absl::OkStatus() : ErrnoStatus(ENOTDIR, "mkdir", path);
  }
  return ErrnoStatus(error, "mkdir", path);
}

// Fills the temporary file and gives it its name.
absl::Status FillAndRename(int fd, const std::string& temporary, const std::string& path,
                           std::string_view content, mode_t mode) {
  COHOST_RETURN_IF_ERROR(Annotate(WriteAll(fd, content), temporary));
  if (fchmod(fd, mode) != 0) return ErrnoStatus(errno, "fchmod", temporary);
  if (fsync(fd) != 0) return ErrnoStatus(errno, "fsync", temporary);
  if (rename(temporary.c_str(), path.c_str()) != 0) return ErrnoStatus(errno, "rename", path);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<UniqueFd> OpenFile(const std::string& path, int flags, mode_t mode) {
  int fd = -1;
  do {
    fd = open(path.c_str(), flags | O_CLOEXEC, mode);
  } while (fd < 0 && errno == EINTR);
  if (fd < 0) return ErrnoStatus(errno, "open", path);
  return UniqueFd(fd);
}

absl::StatusOr<std::string> ReadRegularFile(const std::string& path, Bytes limit) {
  // O_NONBLOCK: opening a FIFO that nobody writes would wait for ever.
  COHOST_ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(path, O_RDONLY | O_NONBLOCK | O_NOCTTY));
  struct stat info {};
  if (fstat(fd.get(), &info) != 0) return ErrnoStatus(errno, "fstat", path);
  if (!S_ISREG(info.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat("read '", path, "': not a regular file"));
  }
  constexpr size_t kChunk = 16 * 1024;
  std::string content;
  size_t length = 0;
  // Read until the end, not until st_size: files of /proc and /sys say 0, and a file may grow.
  while (length <= limit.count) {
    if (content.size() - length < kChunk) {
      content.resize(length + std::max(kChunk, static_cast<size_t>(std::max<off_t>(
                                                   0, std::min<off_t>(info.st_size, 1 << 24)))));
    }
    const ssize_t got = read(fd.get(), content.data() + length, content.size() - length);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoStatus(errno, "read", path);
    if (got == 0) {
      content.resize(length);
      return content;
    }
    length += static_cast<size_t>(got);
  }
  return absl::ResourceExhaustedError(
      absl::StrCat("read '", path, "': longer than ", FormatBytes(limit)));
}

absl::StatusOr<size_t> ReadAt(int fd, uint64_t offset, void* to, size_t length) {
  // No file has bytes further on, and pread would call it an invalid argument.
  constexpr uint64_t kLargestOffset = std::numeric_limits<off_t>::max();
  if (offset > kLargestOffset) return size_t{0};
  length = std::min<uint64_t>(length, kLargestOffset - offset);
  size_t done = 0;
  while (done < length) {
    const ssize_t got =
        pread(fd, static_cast<char*>(to) + done, length - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoStatus(errno, "pread", "");
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  return done;
}

absl::Status WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return ErrnoStatus(errno, "write", "");
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

absl::Status WriteFileAtomically(const std::string& path, std::string_view content, mode_t mode) {
  std::string temporary = absl::StrCat(path, ".XXXXXX");
  const UniqueFd fd(mkostemp(temporary.data(), O_CLOEXEC));
  if (!fd.valid()) return ErrnoStatus(errno, "create", temporary);
  if (absl::Status status = FillAndRename(fd.get(), temporary, path, content, mode); !status.ok()) {
    // Ignoring a failed unlink: the first error says more.
    (void)unlink(temporary.c_str());
    return status;
  }
  return SyncFolder(FolderOf(path));
}

absl::Status MakeFolders(const std::string& path, mode_t mode) {
  // Mostly only the last one is missing, or none.
  const absl::Status made = MakeFolder(path, mode);
  if (!absl::IsNotFound(made)) return made;
  for (size_t slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    COHOST_RETURN_IF_ERROR(MakeFolder(path.substr(0, slash), mode));
  }
  return MakeFolder(path, mode);
}

absl::Status SyncFolder(const std::string& path) {
  COHOST_ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(path, O_RDONLY | O_DIRECTORY));
  if (fsync(fd.get()) != 0) return ErrnoStatus(errno, "fsync", path);
  return absl::OkStatus();
}

}  // namespace cohost
