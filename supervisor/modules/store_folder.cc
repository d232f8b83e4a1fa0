// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/store_folder.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "base/strings.h"
#include "base/system/file.h"
#include "base/system/unique_fd.h"

namespace cohost::supervisor {

namespace {

constexpr size_t kHashLength = 64;
constexpr std::string_view kHexDigits = "0123456789abcdef";

std::string_view Extension(StoredKind kind) {
  switch (kind) {
    case StoredKind::kModule:
      return ".so";
    case StoredKind::kDataImage:
      return ".img";
    case StoredKind::kAssembly:
      return ".dll";
    case StoredKind::kFile:
      return ".file";
    case StoredKind::kProgram:
      return ".program";
  }
  return ".file";
}

struct RefusedFileSystem {
  int64_t type;
  std::string_view name;
};
// Those of the kernel's list (linux/magic.h; the others as statfs(2) gives them) on which rename or
// link is not atomic for every client, where hard links are missing, or whose server may lose what
// was synced or change what is mapped.
constexpr RefusedFileSystem kRefused[] = {
    {NFS_SUPER_MAGIC, "NFS"},   {SMB_SUPER_MAGIC, "SMB"},   {0xFE534D42, "SMB"},
    {0xFF534D42, "CIFS"},       {AFS_SUPER_MAGIC, "AFS"},   {CODA_SUPER_MAGIC, "Coda"},
    {NCP_SUPER_MAGIC, "NCP"},   {0x00C36400, "Ceph"},       {V9FS_MAGIC, "9p"},
    {0x65735546, "FUSE"},       {MSDOS_SUPER_MAGIC, "FAT"}, {0x2011BAB0, "exFAT"},
    {0x786F4256, "VirtualBox"}, {0x0BD00BD0, "Lustre"},     {0x47504653, "GPFS"},
    {0x7461636F, "OCFS2"},      {0x01161970, "GFS2"},       {PROC_SUPER_MAGIC, "proc"},
    {SYSFS_MAGIC, "sysfs"},     {ISOFS_SUPER_MAGIC, "ISO"}, {SQUASHFS_MAGIC, "squashfs"},
};

absl::StatusOr<struct stat> StatOf(const std::string& path) {
  struct stat status;
  if (::lstat(path.c_str(), &status) != 0) return ErrnoStatus(errno, "lstat", path);
  return status;
}

absl::Status RemoveAll(const std::string& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
  if (error) return ErrnoStatus(error.value(), "remove", path);
  return absl::OkStatus();
}

}  // namespace

std::string StoredName::ToString() const {
  if (copy == 1) return absl::StrCat(hash, AsAbsl(Extension(kind)));
  return absl::StrCat(hash, ".", copy, AsAbsl(Extension(kind)));
}

std::optional<StoredName> StoredName::Parse(std::string_view name) {
  if (name.size() <= kHashLength || name.find_first_not_of(kHexDigits) != kHashLength) {
    return std::nullopt;
  }
  StoredName parsed;
  parsed.hash = name.substr(0, kHashLength);
  std::string_view rest = name.substr(kHashLength);
  for (const StoredKind kind : kStoredKinds) {
    if (!rest.ends_with(Extension(kind))) continue;
    parsed.kind = kind;
    rest.remove_suffix(Extension(kind).size());
    if (rest.empty()) return parsed;
    const char* const end = rest.data() + rest.size();
    const auto [stop, error] = std::from_chars(rest.data() + 1, end, parsed.copy);
    if (error != std::errc() || stop != end || parsed.copy < 2) return std::nullopt;
    // Only the way that it is written: no sign, no leading zero.
    if (parsed.ToString() != name) return std::nullopt;
    return parsed;
  }
  return std::nullopt;
}

mode_t ModeOf(StoredKind kind) {
  return kind == StoredKind::kModule || kind == StoredKind::kProgram ? 0555 : 0444;
}

absl::StatusOr<std::vector<std::string>> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  auto entry = std::filesystem::directory_iterator(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    names.push_back(entry->path().filename());
  }
  if (error) return ErrnoStatus(error.value(), "readdir", folder);
  std::sort(names.begin(), names.end());
  return names;
}

absl::Status CheckFileSystem(int64_t type) {
  for (const RefusedFileSystem& refused : kRefused) {
    // f_type is signed and was 32 bits wide once.
    if (static_cast<uint32_t>(type) != static_cast<uint32_t>(refused.type)) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("it is on a ", AsAbsl(refused.name),
                     " file system, which does not keep what the module store needs (atomic names, "
                     "hard links, files that nobody else changes): set host.state_dir to a folder "
                     "on a local one (ext4, xfs, btrfs, tmpfs)"));
  }
  return absl::OkStatus();
}

absl::StatusOr<StoreFolder> StoreFolder::Open(std::string path) {
  COHOST_RETURN_IF_ERROR(MakeFolders(path, 0755));
  struct statfs system;
  if (::statfs(path.c_str(), &system) != 0) return ErrnoStatus(errno, "statfs", path);
  if (absl::Status status = CheckFileSystem(system.f_type); !status.ok()) {
    return Annotate(status, absl::StrCat("module store '", path, "'"));
  }
  StoreFolder folder(std::move(path));
  COHOST_ASSIGN_OR_RETURN(const std::vector<std::string> names, NamesIn(folder.path_));
  for (const std::string& name : names) {
    if (name.starts_with(kStaging)) COHOST_RETURN_IF_ERROR(folder.RemoveStaging(name));
  }
  return folder;
}

absl::Status StoreFolder::RemoveStaging(const std::string& name) const {
  const std::string path = absl::StrCat(path_, "/", name);
  const absl::StatusOr<UniqueFd> fd = OpenFile(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  // Its owner may have ended it meanwhile. What is no folder is not ours to keep either.
  if (absl::IsNotFound(fd.status())) return absl::OkStatus();
  if (fd.ok() && ::flock(fd->get(), LOCK_EX | LOCK_NB) != 0) {
    return errno == EWOULDBLOCK ? absl::OkStatus() : ErrnoStatus(errno, "flock", path);
  }
  return RemoveAll(path);
}

std::string StoreFolder::PathOf(const StoredName& name) const {
  return absl::StrCat(path_, "/", name.ToString());
}

bool StoreFolder::Holds(const StoredName& name, Bytes size) const {
  const absl::StatusOr<struct stat> status = StatOf(PathOf(name));
  return status.ok() && S_ISREG(status->st_mode) &&
         static_cast<uint64_t>(status->st_size) == size.count && (status->st_mode & 0222) == 0;
}

absl::StatusOr<std::vector<StoredName>> StoreFolder::List() const {
  COHOST_ASSIGN_OR_RETURN(const std::vector<std::string> names, NamesIn(path_));
  std::vector<StoredName> stored;
  for (const std::string& name : names) {
    if (auto parsed = StoredName::Parse(name)) stored.push_back(*std::move(parsed));
  }
  return stored;
}

absl::StatusOr<bool> StoreFolder::Admit(const std::string& staged, const StoredName& name,
                                        Bytes size) const {
  const std::string path = PathOf(name);
  // Never over a file that is there: workers map its inode, and others link to it.
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (::renameat2(AT_FDCWD, staged.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) == 0) {
      return true;
    }
    if (errno != EEXIST) return ErrnoStatus(errno, "renameat2", path);
    if (Holds(name, size)) return false;
    const absl::StatusOr<std::string> aside = SetAside(name.ToString());
    // Another publisher may have set it aside in this moment.
    if (!aside.ok() && !absl::IsNotFound(aside.status())) return aside.status();
  }
  return absl::AbortedError(absl::StrCat("'", path, "' is changed by another program meanwhile"));
}

absl::Status StoreFolder::Sync() const { return SyncFolder(path_); }

absl::StatusOr<std::string> StoreFolder::SetAside(const std::string& name) const {
  const std::string folder = absl::StrCat(path_, "/", kDamaged);
  COHOST_RETURN_IF_ERROR(MakeFolders(folder, 0700));
  const std::string to =
      absl::StrCat(folder, "/", name, "-", absl::ToUnixNanos(absl::Now()) / 1000);
  const std::string from = absl::StrCat(path_, "/", name);
  if (::rename(from.c_str(), to.c_str()) != 0) return ErrnoStatus(errno, "rename", from);
  return to;
}

}  // namespace cohost::supervisor
