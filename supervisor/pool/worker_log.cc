// SPDX-License-Identifier: Apache-2.0
#include "supervisor/pool/worker_log.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/system/file.h"

namespace cohost::supervisor {
namespace {

// The group of the log folder may read what services print; nobody else may.
constexpr mode_t kMode = 0640;

}  // namespace

WorkerLog::WorkerLog(const std::string& folder, const std::string& group, uint32_t slot)
    : path_(absl::StrCat(folder, "/", group, "-", slot, ".log")) {}

absl::StatusOr<UniqueFd> WorkerLog::Open() const {
  // O_NOFOLLOW: a link that somebody put into the folder must not choose the file. O_NONBLOCK: nor
  // may a pipe there hold up the loop; it means nothing for a file.
  return OpenFile(path_, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, kMode);
}

bool WorkerLog::NeedsRotation(Bytes limit) const {
  struct stat status = {};
  if (stat(path_.c_str(), &status) != 0) return errno == ENOENT;
  return static_cast<uint64_t>(status.st_size) >= limit.count;
}

absl::StatusOr<UniqueFd> WorkerLog::Rotate(uint32_t files) const {
  for (uint32_t number = files > 1 ? files - 1 : 0; number > 0; --number) {
    const std::string from = number == 1 ? path_ : absl::StrCat(path_, ".", number - 1);
    const std::string to = absl::StrCat(path_, ".", number);
    if (rename(from.c_str(), to.c_str()) != 0 && errno != ENOENT) {
      return ErrnoStatus(errno, "rename", from);
    }
  }
  // Only one file is kept: it begins anew.
  if (files <= 1 && remove(path_.c_str()) != 0 && errno != ENOENT) {
    return ErrnoStatus(errno, "remove", path_);
  }
  return Open();
}

}  // namespace cohost::supervisor
