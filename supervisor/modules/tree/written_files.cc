// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/tree/written_files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <string_view>
#include <utility>

#include "base/sha256.h"
#include "base/status.h"
#include "base/system/file.h"
#include "base/system/unique_fd.h"
#include "supervisor/modules/tree/folder_walk.h"
#include "supervisor/modules/tree/tree_builder.h"

namespace cohost::supervisor {

namespace {

using Change = WrittenFile::Change;

template <typename Visit>
void VisitFolders(std::string_view path, Visit visit) {
  for (std::string_view folder = FolderOf(path); !folder.empty(); folder = FolderOf(folder)) {
    if (!visit(folder)) return;
  }
}

class Comparison {
 public:
  Comparison(const ModuleStore& store, std::string service, const TreeManifest& manifest, int tree,
             WrittenCheck check)
      : store_(store),
        service_(std::move(service)),
        manifest_(manifest),
        tree_(tree),
        check_(check) {}

  absl::StatusOr<WrittenFiles> Run() {
    WalkLimits limits;
    limits.entries = 2 * kMaxTreeEntries;
    COHOST_ASSIGN_OR_RETURN(const Walk walk, WalkFolder(tree_, limits));
    found_.is_cut = !walk.left_out.empty();
    for (const TreeEntry& entry : manifest_.entries()) {
      VisitFolders(entry.path,
                   [this](std::string_view folder) { return folders_.emplace(folder).second; });
    }
    std::set<std::string_view> seen;
    for (const WalkedEntry& entry : walk.entries) {
      seen.insert(entry.path);
      const TreeEntry* expected = manifest_.Find(entry.path);
      if (expected == nullptr) continue;
      COHOST_ASSIGN_OR_RETURN(const bool same, IsSame(entry, *expected));
      if (!same) Report(entry.path, Change::kChanged, entry.stamp.size);
    }
    for (const TreeEntry& entry : manifest_.entries()) {
      // Where not all was looked at one cannot tell.
      if (found_.is_cut || seen.contains(entry.path)) continue;
      Report(entry.path, Change::kMissing, entry.size.count);
    }
    ReportAdded(walk);
    std::sort(found_.files.begin(), found_.files.end(),
              [](const WrittenFile& a, const WrittenFile& b) { return a.path < b.path; });
    return std::move(found_);
  }

 private:
  void Report(const std::string& path, Change change, uint64_t size) {
    found_.files.push_back({path, change, Bytes{size}});
  }

  void ReportAdded(const Walk& walk) {
    std::set<std::string> filled;
    for (const WalkedEntry& entry : walk.entries) {
      VisitFolders(entry.path,
                   [&](std::string_view folder) { return filled.emplace(folder).second; });
    }
    for (const WalkedEntry& entry : walk.entries) {
      if (manifest_.Find(entry.path) != nullptr) continue;
      const bool is_folder = entry.type == WalkedEntry::Type::kFolder;
      if (is_folder && (folders_.contains(entry.path) || filled.contains(entry.path))) continue;
      Report(entry.path, Change::kAdded, is_folder ? 0 : entry.stamp.size);
    }
  }

  absl::StatusOr<bool> IsSame(const WalkedEntry& entry, const TreeEntry& expected) {
    switch (expected.type) {
      case TreeEntry::Type::kFile:
        return entry.type == WalkedEntry::Type::kFile ? IsSameFile(entry, expected) : false;
      case TreeEntry::Type::kFolder:
        return entry.type == WalkedEntry::Type::kFolder;
      case TreeEntry::Type::kLink:
        return entry.type == WalkedEntry::Type::kLink && entry.target == expected.target;
      case TreeEntry::Type::kDataFile:
      case TreeEntry::Type::kDataFolder:
        return entry.type == WalkedEntry::Type::kLink &&
               entry.target == DataLinkTarget(service_, expected.path);
    }
    return false;
  }

  absl::StatusOr<bool> IsSameFile(const WalkedEntry& entry, const TreeEntry& expected) {
    if (entry.stamp.size != expected.size.count) return false;
    if (check_ == WrittenCheck::kMetadata) {
      const auto stored = store_.Find(expected.stored_hash, expected.kind);
      struct stat status {};
      if (stored.ok() && ::lstat(stored->path.c_str(), &status) == 0) {
        const FileStamp stamp = FileStamp::Of(status);
        const bool same =
            expected.placing == Placing::kLink
                ? stamp.device == entry.stamp.device && stamp.inode == entry.stamp.inode
                : stamp.modified_ns == entry.stamp.modified_ns;
        if (same) return true;
      }
      // A further copy of the store's has another inode, and a file that was only touched another
      // time.
    }
    return HasContent(entry.path, expected.stored_hash);
  }

  absl::StatusOr<bool> HasContent(const std::string& path, const std::string& hash) const {
    const absl::StatusOr<UniqueFd> fd = OpenBelow(tree_, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    // What cannot be opened any more was changed in this moment.
    if (!fd.ok()) return false;
    Sha256 sha256;
    std::string part(64 * 1024, '\0');
    for (uint64_t offset = 0;;) {
      COHOST_ASSIGN_OR_RETURN(const size_t n, ReadAt(fd->get(), offset, part.data(), part.size()));
      if (n == 0) break;
      offset += n;
      if (offset > kMaxStoredFile.count) return false;
      sha256.Update(std::string_view(part).substr(0, n));
    }
    return HexDigest(sha256.Finish()) == hash;
  }

  const ModuleStore& store_;
  const std::string service_;
  const TreeManifest& manifest_;
  const int tree_;
  const WrittenCheck check_;
  std::set<std::string> folders_;  // that the manifest implies
  WrittenFiles found_;
};

}  // namespace

absl::StatusOr<WrittenFiles> FindWritten(const ModuleStore& store, const std::string& tree,
                                         const std::string& service, const TreeManifest& manifest,
                                         WrittenCheck check) {
  COHOST_ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(tree, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  return Comparison(store, service, manifest, fd.get(), check).Run();
}

}  // namespace cohost::supervisor
