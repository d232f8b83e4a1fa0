// SPDX-License-Identifier: Apache-2.0
#include "supervisor/ctl/exchange/file_replacement.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/system/file.h"

namespace cohost::supervisor {
namespace {

// As the loader takes it.
constexpr Bytes kMaxFile = MiB(128);
// Imports within one second.
constexpr int kMostNames = 100;

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// One more name for the file; a symbolic link stays one.
absl::StatusOr<std::string> KeepBeside(const std::string& path, absl::Time time) {
  const std::string name = absl::StrCat(
      path, ".before-import-", absl::FormatTime("%Y%m%dT%H%M%SZ", time, absl::UTCTimeZone()));
  for (int number = 1; number <= kMostNames; ++number) {
    const std::string kept = number == 1 ? name : absl::StrCat(name, "-", number);
    if (linkat(AT_FDCWD, path.c_str(), AT_FDCWD, kept.c_str(), 0) == 0) return kept;
    if (errno != EEXIST) return ErrnoStatus(errno, "link", kept);
  }
  return absl::AlreadyExistsError(absl::StrCat("'", name, "' exists"));
}

// Only root can, and only root needs it: everybody else's files are their own already.
absl::Status GiveTo(const std::string& path, const struct stat& owner) {
  struct stat now {};
  if (stat(path.c_str(), &now) != 0) return ErrnoStatus(errno, "stat", path);
  if (now.st_uid == owner.st_uid && now.st_gid == owner.st_gid) return absl::OkStatus();
  if (chown(path.c_str(), owner.st_uid, owner.st_gid) != 0) {
    return ErrnoStatus(errno, "chown", path);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<FileReplacement> FileReplacement::Replace(const std::string& path,
                                                         std::string_view expected,
                                                         std::string_view content,
                                                         absl::Time time) {
  struct stat before {};
  if (stat(path.c_str(), &before) != 0) return ErrnoStatus(errno, "stat", path);
  COHOST_ASSIGN_OR_RETURN(std::string kept, KeepBeside(path, time));
  FileReplacement replacement(path, std::move(kept));
  const absl::StatusOr<std::string> present = ReadRegularFile(path, kMaxFile);
  absl::Status status = present.status();
  if (status.ok() && *present != expected) {
    status = absl::AbortedError(
        absl::StrCat("'", path, "' changed while it was looked at: look again, then repeat"));
  }
  if (status.ok()) status = WriteFileAtomically(path, content, before.st_mode & 07777);
  if (status.ok()) status = GiveTo(path, before);
  if (status.ok()) return replacement;
  // Ignoring a failure: the first error says more, and the old file is still beside.
  (void)replacement.PutBack();
  return status;
}

absl::Status FileReplacement::PutBack() {
  // When both names are the same file still, rename leaves both.
  if (rename(kept_.c_str(), path_.c_str()) != 0) return ErrnoStatus(errno, "rename", path_);
  if (unlink(kept_.c_str()) != 0 && errno != ENOENT) return ErrnoStatus(errno, "unlink", kept_);
  return SyncFolder(FolderOf(path_));
}

}  // namespace cohost::supervisor
