// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/tree/folder_walk.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <string_view>

#include "base/status.h"

namespace cohost::supervisor {

namespace {

constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

int OpenAt(int folder, const char* name, int flags, mode_t mode = 0) {
  int fd = -1;
  do {
    fd = ::openat(folder, name, flags | O_CLOEXEC, mode);
  } while (fd < 0 && errno == EINTR);
  return fd;
}

WalkedEntry::Type TypeOf(mode_t mode) {
  if (S_ISREG(mode)) return WalkedEntry::Type::kFile;
  if (S_ISDIR(mode)) return WalkedEntry::Type::kFolder;
  if (S_ISLNK(mode)) return WalkedEntry::Type::kLink;
  return WalkedEntry::Type::kOther;
}

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

// What "." and ".." are not, sorted, so that limits leave out the same names each time.
absl::StatusOr<std::vector<std::string>> NamesOf(int folder, const std::string& path) {
  // Its own description: the offset of a duplicate would be shared.
  const int fd = OpenAt(folder, ".", kFolderFlags);
  if (fd < 0) return ErrnoStatus(errno, "open", path);
  const std::unique_ptr<DIR, CloseFolder> stream(::fdopendir(fd));
  if (stream == nullptr) {
    const int error = errno;
    ::close(fd);
    return ErrnoStatus(error, "fdopendir", path);
  }
  std::vector<std::string> names;
  for (;;) {
    errno = 0;
    const dirent* const entry = ::readdir(stream.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  if (errno != 0) return ErrnoStatus(errno, "readdir", path);
  std::sort(names.begin(), names.end());
  return names;
}

class Walker {
 public:
  explicit Walker(const WalkLimits& limits) : limits_(limits) {}

  absl::Status Visit(int folder, const std::string& path, size_t depth) {
    COHOST_ASSIGN_OR_RETURN(const std::vector<std::string> names, NamesOf(folder, path));
    for (const std::string& name : names) {
      if (!walk_.left_out.empty()) return absl::OkStatus();
      COHOST_RETURN_IF_ERROR(VisitName(folder, path, name, depth));
    }
    return absl::OkStatus();
  }

  Walk Take() {
    std::sort(walk_.entries.begin(), walk_.entries.end(),
              [](const WalkedEntry& a, const WalkedEntry& b) { return a.path < b.path; });
    return std::move(walk_);
  }

 private:
  absl::Status VisitName(int folder, const std::string& path, const std::string& name,
                         size_t depth) {
    const std::string full = path.empty() ? name : path + "/" + name;
    struct stat status;
    if (::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
      return errno == ENOENT ? absl::OkStatus() : ErrnoStatus(errno, "lstat", full);
    }
    if (walk_.entries.size() >= limits_.entries || depth >= limits_.depth ||
        full.size() > kMaxTreePath) {
      walk_.left_out = full;
      return absl::OkStatus();
    }
    WalkedEntry entry{.path = full,
                      .type = TypeOf(status.st_mode),
                      .mode = status.st_mode & 07777,
                      .links = status.st_nlink,
                      .stamp = FileStamp::Of(status)};
    const bool is_folder = entry.type == WalkedEntry::Type::kFolder;
    if (entry.type == WalkedEntry::Type::kLink) {
      char target[PATH_MAX];
      const ssize_t length = ::readlinkat(folder, name.c_str(), target, sizeof target);
      if (length < 0)
        return errno == ENOENT ? absl::OkStatus() : ErrnoStatus(errno, "readlink", full);
      entry.target.assign(target, static_cast<size_t>(length));
    }
    walk_.entries.push_back(std::move(entry));
    if (!is_folder || (limits_.enter && !limits_.enter(full))) return absl::OkStatus();
    const UniqueFd below(OpenAt(folder, name.c_str(), kFolderFlags));
    // Gone, or another thing has its name now.
    if (!below.valid() && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP)) {
      return absl::OkStatus();
    }
    if (!below.valid()) return ErrnoStatus(errno, "open", full);
    return Visit(below.get(), full, depth + 1);
  }

  const WalkLimits& limits_;
  Walk walk_;
};

// Opens the folders of `path` one after the other and calls `last` with the last one and the name
// in it.
template <typename Last>
auto Descend(int folder, const std::string& path, Last last) -> decltype(last(0, "")) {
  UniqueFd current;
  size_t begin = 0;
  for (size_t slash = path.find('/'); slash != std::string::npos;
       begin = slash + 1, slash = path.find('/', begin)) {
    const int from = current.valid() ? current.get() : folder;
    UniqueFd next(OpenAt(from, path.substr(begin, slash - begin).c_str(), kFolderFlags));
    if (!next.valid()) return ErrnoStatus(errno, "open", path.substr(0, slash));
    current = std::move(next);
  }
  return last(current.valid() ? current.get() : folder, path.substr(begin));
}

}  // namespace

absl::StatusOr<Walk> WalkFolder(int folder, const WalkLimits& limits) {
  Walker walker(limits);
  COHOST_RETURN_IF_ERROR(walker.Visit(folder, "", 0));
  return walker.Take();
}

absl::StatusOr<UniqueFd> OpenBelow(int folder, const std::string& path, int flags, mode_t mode) {
  COHOST_RETURN_IF_ERROR(CheckRelativePath(path));
  return Descend(folder, path, [&](int from, const std::string& name) -> absl::StatusOr<UniqueFd> {
    UniqueFd fd(OpenAt(from, name.c_str(), flags | O_NOFOLLOW, mode));
    if (!fd.valid()) return ErrnoStatus(errno, "open", path);
    return fd;
  });
}

absl::StatusOr<UniqueFd> OpenFolderOf(int folder, const std::string& path) {
  COHOST_RETURN_IF_ERROR(CheckRelativePath(path));
  return Descend(folder, path, [&](int from, const std::string&) -> absl::StatusOr<UniqueFd> {
    UniqueFd fd(OpenAt(from, ".", kFolderFlags));
    if (!fd.valid()) return ErrnoStatus(errno, "open", path);
    return fd;
  });
}

std::string NameOf(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace cohost::supervisor
