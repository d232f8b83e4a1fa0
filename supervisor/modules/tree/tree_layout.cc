// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/tree/tree_layout.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "base/system/file.h"
#include "base/system/unique_fd.h"
#include "supervisor/modules/signing/content_hash.h"
#include "supervisor/modules/store_folder.h"
#include "supervisor/modules/tree/folder_removal.h"
#include "supervisor/modules/tree/relative_path.h"
#include "supervisor/modules/tree/tree_builder.h"

namespace cohost::supervisor {

namespace {

// In the folder of a service; a service's own names have no leading dot. Locked (flock) while
// their maker lives.
constexpr char kStaging[] = ".lay-";
// A tree on its way out.
constexpr char kGoing[] = ".gone-";
// Before the hash of a library that services share.
constexpr char kLibrary[] = "+";
constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;

absl::Status CheckService(const std::string& service) {
  if (CheckRelativePath(service).ok() && service.find('/') == std::string::npos &&
      service[0] != '.') {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", EscapeWord(service), "' is no name of a service"));
}

// A folder for a tree that is being made; removed unless it was named.
class Staging {
 public:
  static absl::StatusOr<Staging> Make(const std::string& folder) {
    Staging staging;
    COHOST_ASSIGN_OR_RETURN(staging.folder_, OpenFile(folder, kFolderFlags));
    staging.path_ = absl::StrCat(folder, "/", kStaging, "XXXXXX");
    if (::mkdtemp(staging.path_.data()) == nullptr) {
      return ErrnoStatus(errno, "mkdtemp", std::exchange(staging.path_, ""));
    }
    COHOST_ASSIGN_OR_RETURN(staging.lock_, OpenFile(staging.path_, kFolderFlags));
    // Cannot be taken: nobody else makes trees of this service, and Open runs before.
    if (::flock(staging.lock_.get(), LOCK_EX | LOCK_NB) != 0) {
      return ErrnoStatus(errno, "flock", staging.path_);
    }
    return staging;
  }
  Staging(Staging&& other) noexcept
      : folder_(std::move(other.folder_)),
        lock_(std::move(other.lock_)),
        path_(std::exchange(other.path_, "")) {}
  Staging& operator=(Staging&&) = delete;
  ~Staging() {
    if (path_.empty()) return;
    // Ignoring an error: the next Open tries again.
    (void)RemoveBelow(folder_.get(), path_.substr(path_.rfind('/') + 1));
  }

  const std::string& path() const { return path_; }

  // Makes it visible. One that is there already stays, and is as good: it was whole.
  absl::Status Name(const std::string& path) {
    if (::renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) == 0) {
      path_.clear();
    } else if (errno != EEXIST) {
      return ErrnoStatus(errno, "rename", path);
    }
    if (::fsync(folder_.get()) != 0) return ErrnoStatus(errno, "fsync", path);
    return absl::OkStatus();
  }

 private:
  Staging() = default;
  UniqueFd folder_;
  UniqueFd lock_;
  std::string path_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<TreeLayout>> TreeLayout::Open(ModuleStore& store,
                                                             std::string state) {
  std::unique_ptr<TreeLayout> layout(new TreeLayout(store, state));
  COHOST_RETURN_IF_ERROR(MakeFolders(layout->trees_, 0755));
  COHOST_RETURN_IF_ERROR(MakeFolders(layout->data_, 0755));
  COHOST_ASSIGN_OR_RETURN(const std::vector<std::string> services, NamesIn(layout->trees_));
  for (const std::string& service : services) {
    COHOST_RETURN_IF_ERROR(layout->RemoveLeftovers(service));
  }
  COHOST_RETURN_IF_ERROR(DataFolder::RemoveLeftovers(layout->data_));
  return layout;
}

absl::Status TreeLayout::RemoveLeftovers(const std::string& service) const {
  const std::string path = absl::StrCat(trees_, "/", service);
  const absl::StatusOr<UniqueFd> folder = OpenFile(path, kFolderFlags);
  // Not a folder of ours.
  if (!folder.ok()) return absl::OkStatus();
  COHOST_ASSIGN_OR_RETURN(const std::vector<std::string> names, NamesIn(path));
  for (const std::string& name : names) {
    if (!name.starts_with(kStaging) && !name.starts_with(kGoing)) continue;
    const absl::StatusOr<UniqueFd> fd = OpenFile(absl::StrCat(path, "/", name), kFolderFlags);
    // Somebody is making it.
    if (fd.ok() && ::flock(fd->get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) continue;
    COHOST_RETURN_IF_ERROR(Annotate(RemoveBelow(folder->get(), name), path));
  }
  return absl::OkStatus();
}

std::string TreeLayout::PathOf(const std::string& service, const std::string& id) const {
  return absl::StrCat(trees_, "/", service, "/", id);
}

absl::StatusOr<LaidTree> TreeLayout::LayOut(const std::string& service,
                                            const TreeManifest& manifest,
                                            const PersistRules& persist, const DataOwner& owner) {
  COHOST_RETURN_IF_ERROR(CheckService(service));
  LaidTree laid;
  COHOST_ASSIGN_OR_RETURN(const DataFolder data, DataFolder::Open(data_, service, owner));
  laid.data = data.path();
  COHOST_ASSIGN_OR_RETURN(laid.manifest, data.WithKeptFiles(manifest, persist, &laid.notices));
  // Before the tree: who sees it may use it.
  COHOST_RETURN_IF_ERROR(data.Seed(laid.manifest, store_, &laid.notices));
  laid.path = PathOf(service, laid.manifest.id());
  struct stat status {};
  if (::lstat(laid.path.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) return laid;
  COHOST_RETURN_IF_ERROR(Make(service, laid.manifest));
  laid.is_new = true;
  return laid;
}

absl::StatusOr<std::string> TreeLayout::LayOutLibrary(const std::string& hash,
                                                      const TreeManifest& files) {
  const std::string folder = kLibrary + hash;
  std::string path = PathOf(folder, files.id());
  struct stat status {};
  if (::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) return path;
  COHOST_RETURN_IF_ERROR(Make(folder, files));
  return path;
}

absl::Status TreeLayout::Make(const std::string& service, const TreeManifest& manifest) const {
  const std::string folder = absl::StrCat(trees_, "/", service);
  struct stat status {};
  if (::lstat(folder.c_str(), &status) != 0) {
    COHOST_RETURN_IF_ERROR(MakeFolders(folder, 0755));
    COHOST_RETURN_IF_ERROR(SyncFolder(trees_));
  }
  COHOST_ASSIGN_OR_RETURN(Staging staging, Staging::Make(folder));
  COHOST_RETURN_IF_ERROR(TreeBuilder(store_, service, staging.path()).Build(manifest));
  return staging.Name(PathOf(service, manifest.id()));
}

absl::StatusOr<TreeCollection> TreeLayout::Collect(const TreeNames& keep,
                                                   const std::set<std::string>& libraries,
                                                   absl::Duration least_age) {
  TreeCollection collection;
  COHOST_ASSIGN_OR_RETURN(const std::vector<std::string> services, NamesIn(trees_));
  for (const std::string& service : services) {
    if (service.starts_with(kLibrary) && libraries.contains(service.substr(1))) continue;
    const auto kept = keep.find(service);
    COHOST_RETURN_IF_ERROR(
        CollectService(service, kept == keep.end() ? std::set<std::string>() : kept->second,
                       absl::Now() - least_age, collection));
  }
  return collection;
}

absl::Status TreeLayout::CollectService(const std::string& service,
                                        const std::set<std::string>& keep, absl::Time oldest,
                                        TreeCollection& collection) const {
  const std::string path = absl::StrCat(trees_, "/", service);
  const absl::StatusOr<UniqueFd> folder = OpenFile(path, kFolderFlags);
  if (!folder.ok()) return absl::OkStatus();  // no folder of ours
  COHOST_ASSIGN_OR_RETURN(const std::vector<std::string> names, NamesIn(path));
  for (const std::string& name : names) {
    struct stat status {};
    if (!IsContentHash(name) || keep.contains(name) ||
        ::fstatat(folder->get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
      continue;
    }
    if (absl::TimeFromTimespec(status.st_ctim) > oldest) {
      ++collection.young;
      continue;
    }
    // A tree is whole or cannot be seen, also while it goes.
    const std::string going = kGoing + name;
    COHOST_RETURN_IF_ERROR(Annotate(RemoveBelow(folder->get(), going), path));
    if (::renameat(folder->get(), name.c_str(), folder->get(), going.c_str()) != 0) {
      return ErrnoStatus(errno, "rename", absl::StrCat(path, "/", name));
    }
    COHOST_RETURN_IF_ERROR(Annotate(RemoveBelow(folder->get(), going), path));
    collection.removed.push_back(absl::StrCat(path, "/", name));
  }
  // Ignoring the result: it goes when nothing is left in it.
  (void)::rmdir(path.c_str());
  return absl::OkStatus();
}

}  // namespace cohost::supervisor
