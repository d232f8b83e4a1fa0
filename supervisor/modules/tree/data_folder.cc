// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/tree/data_folder.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "base/strings.h"
#include "base/system/file.h"
#include "supervisor/modules/tree/folder_removal.h"
#include "supervisor/modules/tree/folder_walk.h"
#include "supervisor/modules/tree/stored_copy.h"

namespace cohost::supervisor {

namespace {

constexpr char kSeeds[] = "/.seeds";
constexpr char kSeeding[] = ".seeding";
constexpr char kFirstLine[] = "cohost-seeds 1";
constexpr Bytes kMaxRecord = MiB(128);
constexpr mode_t kFolderMode = 02770;
constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

std::set<std::string> ReadRecord(const std::string& path) {
  std::set<std::string> seeded;
  const auto text = ReadRegularFile(path, kMaxRecord);
  if (!text.ok()) return seeded;
  bool first = true;
  for (const absl::string_view line : absl::StrSplit(*text, '\n', absl::SkipEmpty())) {
    if (std::exchange(first, false)) {
      if (line != kFirstLine) return {};
      continue;
    }
    const auto seed = UnescapeWord(AsStd(line));
    if (!seed.ok()) return {};
    seeded.insert(*seed);
  }
  return seeded;
}

std::string FormatRecord(const std::set<std::string>& seeded) {
  std::string text = absl::StrCat(kFirstLine, "\n");
  for (const std::string& path : seeded) absl::StrAppend(&text, EscapeWord(path), "\n");
  return text;
}

// The tree has another thing at `path`, above it or below it.
bool IsTaken(const TreeManifest& manifest, const std::set<std::string>& tree_folders,
             const std::string& path) {
  if (manifest.Find(path) != nullptr || tree_folders.contains(path)) return true;
  for (std::string_view folder = FolderOf(path); !folder.empty(); folder = FolderOf(folder)) {
    if (manifest.Find(folder) != nullptr) return true;
  }
  return false;
}

}  // namespace

absl::StatusOr<DataFolder> DataFolder::Open(const std::string& data, const std::string& service,
                                            const DataOwner& owner) {
  COHOST_RETURN_IF_ERROR(MakeFolders(data + kSeeds, 0755));
  const std::string path = absl::StrCat(data, "/", service);
  COHOST_RETURN_IF_ERROR(MakeFolders(path, 0700));
  COHOST_ASSIGN_OR_RETURN(UniqueFd fd, OpenFile(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  DataFolder folder(data, service, owner, std::move(fd));
  COHOST_RETURN_IF_ERROR(folder.Own(folder.fd_.get(), kFolderMode));
  return folder;
}

absl::Status DataFolder::RemoveLeftovers(const std::string& data) {
  COHOST_ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(data, O_RDONLY | O_DIRECTORY));
  return Annotate(RemoveBelow(fd.get(), kSeeding), data);
}

absl::Status DataFolder::Own(int fd, mode_t mode) const {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return ErrnoStatus(errno, "fstat", path_);
  // Only what we made; what the service made, or an operator gave to somebody, stays theirs.
  if (status.st_uid != ::geteuid()) return absl::OkStatus();
  if ((status.st_mode & 07777) != mode && ::fchmod(fd, mode) != 0) {
    return ErrnoStatus(errno, "fchmod", path_);
  }
  if (!owner_.uid.has_value() || *owner_.uid == status.st_uid) return absl::OkStatus();
  if (::fchown(fd, *owner_.uid, static_cast<gid_t>(-1)) != 0) {
    return ErrnoStatus(errno, "fchown", path_);
  }
  return absl::OkStatus();
}

absl::StatusOr<TreeManifest> DataFolder::WithKeptFiles(const TreeManifest& manifest,
                                                       const PersistRules& persist,
                                                       std::vector<std::string>* notices) const {
  WalkLimits limits;
  limits.entries = kMostLookedAt;
  limits.enter = [&manifest](const std::string& path) {
    const TreeEntry* entry = manifest.Find(path);
    return entry == nullptr || entry->type != TreeEntry::Type::kDataFolder;
  };
  COHOST_ASSIGN_OR_RETURN(const Walk walk, WalkFolder(fd_.get(), limits));
  std::set<std::string> tree_folders;
  for (const TreeEntry& entry : manifest.entries()) {
    for (std::string_view folder = FolderOf(entry.path);
         !folder.empty() && tree_folders.emplace(folder).second; folder = FolderOf(folder)) {
    }
  }
  std::vector<TreeEntry> entries = manifest.entries();
  size_t kept = 0;
  bool is_cut = !walk.left_out.empty();
  for (const WalkedEntry& entry : walk.entries) {
    if (entry.type != WalkedEntry::Type::kFile || !persist.Matches(entry.path) ||
        IsTaken(manifest, tree_folders, entry.path)) {
      continue;
    }
    if (kept++ == kMostKept) {
      is_cut = true;
      break;
    }
    entries.push_back({.path = entry.path, .type = TreeEntry::Type::kDataFile});
  }
  if (is_cut) {
    notices->push_back(absl::StrCat("'", path_, "' holds more files than are looked at (",
                                    kMostLookedAt, ") or linked one by one (", kMostKept,
                                    "); not all are in the tree: persist a folder (data/**)"));
  }
  return kept == 0 ? manifest : TreeManifest::Create(std::move(entries), manifest.seeds());
}

// Each folder of the path, made where it is missing; the last one.
absl::StatusOr<UniqueFd> DataFolder::MakeFolder(const std::string& path) const {
  UniqueFd current(::fcntl(fd_.get(), F_DUPFD_CLOEXEC, 0));
  if (!current.valid()) return ErrnoStatus(errno, "dup", path_);
  for (const absl::string_view part : absl::StrSplit(path, '/', absl::SkipEmpty())) {
    const std::string name(part);
    if (::mkdirat(current.get(), name.c_str(), 0700) != 0 && errno != EEXIST) {
      return ErrnoStatus(errno, "mkdir", absl::StrCat(path_, "/", path));
    }
    UniqueFd next(::openat(current.get(), name.c_str(), kFolderFlags));
    if (!next.valid()) return ErrnoStatus(errno, "open", absl::StrCat(path_, "/", path));
    COHOST_RETURN_IF_ERROR(Own(next.get(), kFolderMode));
    current = std::move(next);
  }
  return current;
}

absl::Status DataFolder::FillFile(int to, const TreeSeed& seed, const StoredFile& stored) const {
  COHOST_RETURN_IF_ERROR(CopyStored(stored, to));
  return Own(to, seed.mode == 0555 ? 0755 : 0644);
}

absl::Status DataFolder::PutFile(const TreeSeed& seed, const ModuleStore& store) const {
  const std::string folder_path(FolderOf(seed.path));
  COHOST_ASSIGN_OR_RETURN(const UniqueFd folder, MakeFolder(folder_path));
  const std::string name = NameOf(seed.path);
  struct stat status {};
  if (::fstatat(folder.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) {
    return absl::OkStatus();
  }
  const StoredKind kind = seed.mode == 0555 ? StoredKind::kProgram : StoredKind::kFile;
  COHOST_ASSIGN_OR_RETURN(const StoredFile stored, store.Find(seed.hash, kind));
  // Filled where nobody else writes, then named: the service never sees a part of it.
  std::string temporary = absl::StrCat(data_, "/", kSeeding, "/XXXXXX");
  const UniqueFd fd(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!fd.valid()) return ErrnoStatus(errno, "mkostemp", temporary);
  absl::Status put = FillFile(fd.get(), seed, stored);
  if (put.ok() &&
      ::renameat2(AT_FDCWD, temporary.c_str(), folder.get(), name.c_str(), RENAME_NOREPLACE) != 0) {
    put = ErrnoStatus(errno, "rename", absl::StrCat(path_, "/", seed.path));
  }
  if (put.ok()) return put;
  (void)::unlink(temporary.c_str());  // ignoring: the next start removes it
  // The service made one in this moment.
  return absl::IsAlreadyExists(put) ? absl::OkStatus() : put;
}

absl::Status DataFolder::Seed(const TreeManifest& manifest, const ModuleStore& store,
                              std::vector<std::string>* notices) const {
  // What the service has in the way is its own matter, and not an error of the deployment.
  const auto note = [&](const absl::Status& status) -> absl::Status {
    if (!absl::IsFailedPrecondition(status) && !absl::IsInvalidArgument(status) &&
        !absl::IsAlreadyExists(status) && !absl::IsPermissionDenied(status)) {
      return status;
    }
    notices->push_back(absl::StrCat(
        "a seed is not put where the service has something of its own: ", status.message()));
    return absl::OkStatus();
  };
  for (const TreeEntry& entry : manifest.entries()) {
    if (entry.type == TreeEntry::Type::kDataFolder) {
      COHOST_RETURN_IF_ERROR(note(MakeFolder(entry.path).status()));
    } else if (entry.type == TreeEntry::Type::kDataFile) {
      COHOST_RETURN_IF_ERROR(note(MakeFolder(std::string(FolderOf(entry.path))).status()));
    }
  }
  const std::string record = absl::StrCat(data_, kSeeds, "/", service_);
  const std::set<std::string> before = ReadRecord(record);
  std::set<std::string> seeded = before;
  COHOST_RETURN_IF_ERROR(MakeFolders(absl::StrCat(data_, "/", kSeeding), 0700));
  for (const TreeSeed& seed : manifest.seeds()) {
    if (!seeded.insert(seed.path).second) continue;
    COHOST_RETURN_IF_ERROR(
        note(seed.is_folder ? MakeFolder(seed.path).status() : PutFile(seed, store)));
  }
  if (seeded == before) return absl::OkStatus();
  // The seeds before the record of them; one call for all, since this happens once a service.
  if (::syncfs(fd_.get()) != 0) return ErrnoStatus(errno, "syncfs", path_);
  return WriteFileAtomically(record, FormatRecord(seeded), 0644);
}

}  // namespace cohost::supervisor
