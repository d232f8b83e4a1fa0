// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/tree/tree_publisher.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/system/file.h"
#include "supervisor/modules/tree/file_role.h"
#include "supervisor/modules/tree/folder_walk.h"

namespace cohost::supervisor {

namespace {

// A change within one tick of the kernel's clock for time stamps (4 to 10 ms) may leave the same
// stamp, so what was changed in this time is looked at again.
constexpr int64_t kSettledNs = 20'000'000;
constexpr int kSettleAttempts = 50;

int64_t NowNs() {
  struct timespec now {};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

absl::Status Changed(const std::string& path) {
  return absl::AbortedError(absl::StrCat(
      "'", path, "' changed while it was read; try again when the folder is complete"));
}

class Publisher {
 public:
  Publisher(ModuleStore& store, std::string folder, int root, const PersistRules& persist)
      : batch_(store), folder_(std::move(folder)), root_(root), persist_(persist) {}

  absl::StatusOr<PublishedTree> Publish() {
    COHOST_RETURN_IF_ERROR(WalkSettled());
    COHOST_ASSIGN_OR_RETURN(plan_, persist_.Plan(before_));
    published_.notices = plan_.notices;
    for (const WalkedEntry& entry : before_) {
      const absl::Status added = AddEntry(entry);
      if (added.ok()) continue;
      // What is gone or torn by now says less than that it changed.
      const absl::Status unchanged = CheckUnchanged();
      return absl::IsAborted(unchanged) ? unchanged : added;
    }
    AddDataLinks();
    AddEmptyFolders();
    COHOST_ASSIGN_OR_RETURN(published_.manifest,
                            TreeManifest::Create(std::move(entries_), std::move(seeds_)));
    // A tree of files that never were there together is no tree that anybody meant. Since every
    // stamp was old when it was taken, no change can hide behind an equal one; so this shows too
    // that no part of a path was another thing for a moment.
    COHOST_RETURN_IF_ERROR(CheckUnchanged());
    COHOST_RETURN_IF_ERROR(batch_.Commit());
    return std::move(published_);
  }

 private:
  absl::StatusOr<std::vector<WalkedEntry>> WalkOnce() const {
    COHOST_ASSIGN_OR_RETURN(Walk walk, WalkFolder(root_));
    if (walk.left_out.empty()) return std::move(walk.entries);
    return absl::ResourceExhaustedError(absl::StrCat(
        "it is too large for a tree at '", walk.left_out, "': at most ", kMaxTreeEntries,
        " files and folders, ", kMaxTreeDepth, " deep; deploy the published application only"));
  }

  // Until nothing in the folder was changed just now.
  absl::Status WalkSettled() {
    for (int attempt = 0; attempt < kSettleAttempts; ++attempt) {
      const int64_t now = NowNs();
      COHOST_ASSIGN_OR_RETURN(before_, WalkOnce());
      struct stat status {};
      if (::fstat(root_, &status) != 0) return ErrnoStatus(errno, "fstat", folder_);
      root_stamp_ = FileStamp::Of(status);
      int64_t latest = root_stamp_.changed_ns;
      for (const WalkedEntry& entry : before_) latest = std::max(latest, entry.stamp.changed_ns);
      // Stamps of the future come from a clock that was set back; they cannot be waited for.
      if (latest + kSettledNs <= now || latest > now + kSettledNs) return absl::OkStatus();
      const struct timespec wait = {0, kSettledNs};
      (void)::clock_nanosleep(CLOCK_MONOTONIC, 0, &wait, nullptr);  // a signal only shortens it
    }
    return absl::AbortedError("files in it change all the time; try again when it is complete");
  }

  absl::Status CheckUnchanged() const {
    COHOST_ASSIGN_OR_RETURN(const std::vector<WalkedEntry> after, WalkOnce());
    const auto [a, b] = std::mismatch(before_.begin(), before_.end(), after.begin(), after.end());
    if (a != before_.end()) return Changed(a->path);
    if (b != after.end()) return Changed(b->path);
    struct stat opened {};
    struct stat named {};
    if (::fstat(root_, &opened) != 0 || FileStamp::Of(opened) != root_stamp_ ||
        ::stat(folder_.c_str(), &named) != 0 || FileStamp::Of(named) != root_stamp_) {
      return Changed(folder_);
    }
    return absl::OkStatus();
  }

  absl::Status AddEntry(const WalkedEntry& entry) {
    const bool persists = plan_.Holds(entry.path);
    switch (entry.type) {
      case WalkedEntry::Type::kFolder:
        return absl::OkStatus();
      case WalkedEntry::Type::kFile:
        return persists ? AddSeed(entry) : AddFile(entry);
      case WalkedEntry::Type::kLink:
        if (persists) break;
        return AddLink(entry);
      case WalkedEntry::Type::kOther:
        if (persists) break;
        return absl::InvalidArgumentError(
            absl::StrCat("'", entry.path, "' is a pipe, socket or device; remove it"));
    }
    published_.notices.push_back(
        absl::StrCat("'", entry.path, "' is no regular file and is not copied to the data folder"));
    return absl::OkStatus();
  }

  absl::Status AddLink(const WalkedEntry& entry) {
    COHOST_ASSIGN_OR_RETURN(std::string target, NormalLinkTarget(entry.path, entry.target));
    entries_.push_back(
        {.path = entry.path, .type = TreeEntry::Type::kLink, .target = std::move(target)});
    return absl::OkStatus();
  }

  absl::StatusOr<StoredFile> Store(const WalkedEntry& entry, StoredKind kind) {
    COHOST_ASSIGN_OR_RETURN(StoredFile file,
                            batch_.Add(absl::StrCat(folder_, "/", entry.path), kind));
    for (const std::string& warning : file.warnings) {
      published_.notices.push_back(absl::StrCat("'", entry.path, "' ", warning));
    }
    return file;
  }

  absl::Status AddFile(const WalkedEntry& entry) {
    COHOST_ASSIGN_OR_RETURN(const UniqueFd fd,
                            OpenBelow(root_, entry.path, O_RDONLY | O_NONBLOCK | O_NOCTTY));
    COHOST_ASSIGN_OR_RETURN(const FileRole role, RoleOf(fd.get(), entry.path, entry.mode));
    COHOST_ASSIGN_OR_RETURN(const StoredFile file, Store(entry, role.kind));
    entries_.push_back({.path = entry.path,
                        .mode = role.mode,
                        .kind = role.kind,
                        .placing = role.placing,
                        .size = file.size,
                        .source_hash = file.hash,
                        .stored_hash = file.hash});
    return absl::OkStatus();
  }

  absl::Status AddSeed(const WalkedEntry& entry) {
    const bool executable = (entry.mode & 0111) != 0;
    COHOST_ASSIGN_OR_RETURN(const StoredFile file,
                            Store(entry, executable ? StoredKind::kProgram : StoredKind::kFile));
    seeds_.push_back({.path = entry.path,
                      .mode = static_cast<mode_t>(executable ? 0555 : 0444),
                      .size = file.size,
                      .hash = file.hash});
    return absl::OkStatus();
  }

  void AddDataLinks() {
    for (const std::string& path : plan_.folders) {
      entries_.push_back({.path = path, .type = TreeEntry::Type::kDataFolder});
    }
    for (const std::string& path : plan_.files) {
      entries_.push_back({.path = path, .type = TreeEntry::Type::kDataFile});
    }
  }

  // Those in which nothing is that the tree, or the data folder, has anyway.
  void AddEmptyFolders() {
    std::set<std::string> filled;
    const auto fill = [&filled](const std::string& path) {
      for (std::string_view folder = FolderOf(path);
           !folder.empty() && filled.emplace(folder).second; folder = FolderOf(folder)) {
      }
    };
    for (const TreeEntry& entry : entries_) fill(entry.path);
    for (const TreeSeed& seed : seeds_) fill(seed.path);
    // From the end: what is in a folder comes after it.
    for (auto entry = before_.rbegin(); entry != before_.rend(); ++entry) {
      if (entry->type != WalkedEntry::Type::kFolder || filled.contains(entry->path)) continue;
      if (std::binary_search(plan_.folders.begin(), plan_.folders.end(), entry->path)) continue;
      if (plan_.IsInFolder(entry->path)) {
        seeds_.push_back({.path = entry->path, .is_folder = true});
      } else {
        entries_.push_back({.path = entry->path, .type = TreeEntry::Type::kFolder});
      }
      fill(entry->path);
    }
  }

  ModuleStore::Batch batch_;
  const std::string folder_;
  const int root_;
  const PersistRules& persist_;
  std::vector<WalkedEntry> before_;
  FileStamp root_stamp_;
  PersistPlan plan_;
  std::vector<TreeEntry> entries_;
  std::vector<TreeSeed> seeds_;
  PublishedTree published_;
};

}  // namespace

absl::StatusOr<PublishedTree> PublishTree(ModuleStore& store, const std::string& folder,
                                          const PersistRules& persist) {
  // A link that names the current release may be switched meanwhile.
  std::error_code error;
  const std::string resolved = std::filesystem::canonical(folder, error);
  if (error) return ErrnoStatus(error.value(), "resolve application folder", folder);
  COHOST_ASSIGN_OR_RETURN(const UniqueFd root,
                          OpenFile(resolved, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  auto published = Publisher(store, resolved, root.get(), persist).Publish();
  if (!published.ok()) {
    return Annotate(published.status(), absl::StrCat("application folder '", resolved, "'"));
  }
  return published;
}

}  // namespace cohost::supervisor
