// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/tree/tree_builder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/strings.h"
#include "base/system/file.h"
#include "base/system/unique_fd.h"
#include "supervisor/modules/tree/relative_path.h"
#include "supervisor/modules/tree/stored_copy.h"

namespace cohost::supervisor {

std::string DataLinkTarget(const std::string& service, const std::string& path) {
  std::string target = "../../../";  // of ID, SERVICE and TREES
  for (const char c : path) {
    if (c == '/') target += "../";
  }
  absl::StrAppend(&target, "data/", service, "/", path);
  return target;
}

absl::Status TreeBuilder::Build(const TreeManifest& manifest) {
  for (const TreeEntry& entry : manifest.entries()) COHOST_RETURN_IF_ERROR(AddEntry(entry));
  COHOST_RETURN_IF_ERROR(CloseFolders());
  // Once for everything: each fsync(2) of a new file or folder is a commit of the file system's
  // journal of its own (4 to 8 ms), and a tree has dozens.
  COHOST_ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(folder_, O_RDONLY | O_DIRECTORY));
  if (::syncfs(fd.get()) != 0) return ErrnoStatus(errno, "syncfs", folder_);
  return absl::OkStatus();
}

absl::Status TreeBuilder::AddEntry(const TreeEntry& entry) {
  COHOST_RETURN_IF_ERROR(MakeFolderOf(entry.path));
  switch (entry.type) {
    case TreeEntry::Type::kFile:
      return AddFile(entry);
    case TreeEntry::Type::kFolder:
      return MakeFolder(entry.path);
    case TreeEntry::Type::kLink:
      return AddLink(entry.target, entry.path);
    case TreeEntry::Type::kDataFile:
    case TreeEntry::Type::kDataFolder:
      return AddLink(DataLinkTarget(service_, entry.path), entry.path);
  }
  return absl::InternalError("tree entry of no type");
}

absl::Status TreeBuilder::MakeFolderOf(const std::string& path) {
  const std::string folder(FolderOf(path));
  if (folder.empty() || folders_.contains(folder)) return absl::OkStatus();
  COHOST_RETURN_IF_ERROR(MakeFolderOf(folder));
  return MakeFolder(folder);
}

absl::Status TreeBuilder::MakeFolder(const std::string& path) {
  if (!folders_.insert(path).second) return absl::OkStatus();
  // Closed at the end.
  if (::mkdir(PathOf(path).c_str(), 0755) != 0) return ErrnoStatus(errno, "mkdir", PathOf(path));
  return absl::OkStatus();
}

absl::StatusOr<StoredFile> TreeBuilder::Find(const TreeEntry& entry) {
  const auto key = std::make_pair(entry.stored_hash, entry.kind);
  if (const auto found = found_.find(key); found != found_.end()) return found->second;
  auto stored = store_.Find(entry.stored_hash, entry.kind);
  if (!stored.ok()) {
    return Annotate(stored.status(), absl::StrCat("file '", entry.path, "' of a tree"));
  }
  if (stored->size != entry.size) {
    return absl::DataLossError(absl::StrCat("'", stored->path, "' has ", stored->size.count,
                                            " bytes instead of ", entry.size.count,
                                            ": deploy its source again"));
  }
  found_.emplace(key, *stored);
  return stored;
}

absl::Status TreeBuilder::AddFile(const TreeEntry& entry) {
  COHOST_ASSIGN_OR_RETURN(const StoredFile stored, Find(entry));
  if (entry.placing == Placing::kLink) return store_.Link(stored, PathOf(entry.path));
  return AddCopy(entry, stored);
}

absl::Status TreeBuilder::AddCopy(const TreeEntry& entry, const StoredFile& stored) {
  const std::string path = PathOf(entry.path);
  struct stat source {};
  if (::lstat(stored.path.c_str(), &source) != 0) return ErrnoStatus(errno, "lstat", stored.path);
  COHOST_ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(path, O_WRONLY | O_CREAT | O_EXCL, 0600));
  COHOST_RETURN_IF_ERROR(Annotate(CopyStored(stored, fd.get()), path));
  const struct timespec times[2] = {source.st_mtim, source.st_mtim};
  if (::futimens(fd.get(), times) != 0) return ErrnoStatus(errno, "futimens", path);
  if (::fchmod(fd.get(), entry.mode) != 0) return ErrnoStatus(errno, "fchmod", path);
  return absl::OkStatus();
}

absl::Status TreeBuilder::AddLink(const std::string& target, const std::string& path) {
  if (::symlink(target.c_str(), PathOf(path).c_str()) != 0) {
    return ErrnoStatus(errno, "symlink", PathOf(path));
  }
  return absl::OkStatus();
}

// Read-only, the deepest first.
absl::Status TreeBuilder::CloseFolders() {
  for (auto folder = folders_.rbegin(); folder != folders_.rend(); ++folder) {
    const std::string path = PathOf(*folder);
    if (::chmod(path.c_str(), 0555) != 0) return ErrnoStatus(errno, "chmod", path);
  }
  if (::chmod(folder_.c_str(), 0555) != 0) return ErrnoStatus(errno, "chmod", folder_);
  return absl::OkStatus();
}

}  // namespace cohost::supervisor
