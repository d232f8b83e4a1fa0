// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/tree/folder_removal.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/system/unique_fd.h"

namespace cohost::supervisor {

namespace {

// One descriptor a level is open meanwhile.
constexpr int kMaxDepth = 256;

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

absl::Status Remove(int folder, const std::string& name, int depth);

absl::Status RemoveContent(UniqueFd fd, const std::string& name, int depth) {
  const std::unique_ptr<DIR, CloseFolder> stream(::fdopendir(fd.get()));
  if (stream == nullptr) return ErrnoStatus(errno, "fdopendir", name);
  const int folder = fd.Release();
  std::vector<std::string> names;
  while (const dirent* const entry = ::readdir(stream.get())) {
    const std::string_view each = entry->d_name;
    if (each != "." && each != "..") names.emplace_back(each);
  }
  for (const std::string& each : names) {
    if (absl::Status status = Remove(folder, each, depth + 1); !status.ok()) {
      return Annotate(status, name);
    }
  }
  return absl::OkStatus();
}

absl::Status Remove(int folder, const std::string& name, int depth) {
  if (::unlinkat(folder, name.c_str(), 0) == 0 || errno == ENOENT) return absl::OkStatus();
  if (errno != EISDIR) return ErrnoStatus(errno, "unlink", name);
  if (depth > kMaxDepth) {
    return absl::FailedPreconditionError(
        absl::StrCat("'", name, "' is deeper than ", kMaxDepth, " folders; remove it by hand"));
  }
  // By the descriptor: another thing may have the name in the next moment.
  UniqueFd fd(::openat(folder, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd.valid()) return errno == ENOENT ? absl::OkStatus() : ErrnoStatus(errno, "open", name);
  // A supervisor that may change owners and permissions may still not write to everybody's folders.
  // Ignoring the results: when they were needed and failed, unlinking fails and says so.
  (void)!::fchown(fd.get(), ::geteuid(), static_cast<gid_t>(-1));
  (void)::fchmod(fd.get(), 0700);
  COHOST_RETURN_IF_ERROR(RemoveContent(std::move(fd), name, depth));
  if (::unlinkat(folder, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) {
    return absl::OkStatus();
  }
  return ErrnoStatus(errno, "rmdir", name);
}

}  // namespace

absl::Status RemoveBelow(int folder, const std::string& name) { return Remove(folder, name, 0); }

}  // namespace cohost::supervisor
