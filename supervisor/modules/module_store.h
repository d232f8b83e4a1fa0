// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "base/units.h"
#include "supervisor/modules/publication.h"
#include "supervisor/modules/source_index.h"
#include "supervisor/modules/store_folder.h"
#include "supervisor/modules/stored_file.h"

namespace cohost::supervisor {

struct StoreOptions {
  std::string folder;  // absolute
  // Hard links that one file gets at most; file systems end at 65,000 (ext4) and more.
  uint32_t most_links = 60'000;
};

// What a check of the whole store found and did.
struct StoreCheck {
  uint64_t files = 0;
  Bytes size;
  // Set aside: content that is not what the name says, wrong size, not a regular file. Paths where
  // they are now, and why.
  std::vector<std::string> damaged;
  // Names that are not the store's own; left alone.
  std::vector<std::string> foreign;
  // Lines of the index whose file is gone.
  uint64_t forgotten = 0;
};

struct StoreCollection {
  std::vector<StoredFile> removed;
  Bytes freed;
  // Kept only because they are younger than asked.
  uint64_t young = 0;
};

// Files that workers map, kept once by content in one folder (store_folder.h), read-only, never
// changed. The folder is the truth; which source gave which hash is remembered in FOLDER/index
// (source_index.h), a cache that may be lost.
//
// Thread-safe. What reads or writes files does it on the caller's thread: from the loop thread only
// while starting; for an unchanged source that is two stat calls.
class ModuleStore {
 public:
  // Makes the folder, removes what an interrupted publish left there, reads the index. `notices`:
  // lines for the log (an unreadable index is forgotten, never an error).
  static absl::StatusOr<std::unique_ptr<ModuleStore>> Open(StoreOptions options,
                                                           std::vector<std::string>* notices);

  // Several files at once: cheaper than one by one, since the disk is waited for once. Add for
  // every file, then Commit; ended without it, nothing was published. One thread at a time; the
  // store outlives it.
  class Batch {
   public:
    explicit Batch(ModuleStore& store) : store_(store), publication_(store.folder_) {}
    // Several sources at once, which Add gets afterwards: read on several threads where the store
    // does not know them. Worth it for many files of which it has most.
    void ReadAhead(const std::vector<std::pair<std::string, StoredKind>>& sources);
    // As Publish; the file has its path after Commit only.
    absl::StatusOr<StoredFile> Add(const std::string& source, StoredKind kind);
    absl::Status Commit();

   private:
    ModuleStore& store_;
    Publication publication_;
    std::vector<std::pair<std::string, SourceIndex::Entry>> read_;
  };

  // Copies the file into the store, checks the copy, syncs it and gives it its name. Publishing the
  // same content again answers the same file. Errors as Publication::Add, with kind and source in
  // front; nothing enters the store then.
  absl::StatusOr<StoredFile> Publish(const std::string& source, StoredKind kind);

  // The same for content that has no source.
  absl::StatusOr<StoredFile> PublishContent(std::string_view content, StoredKind kind);

  // The stored file of that hash. NOT_FOUND when it is not there.
  absl::StatusOr<StoredFile> Find(const std::string& hash, StoredKind kind) const;

  // Gives a stored file one more name, a hard link at `path` (which must not exist), from a further
  // copy when the file has most_links already. The caller syncs the folder of `path`.
  absl::Status Link(const StoredFile& file, const std::string& path);

  // Writes the index when it changed: after the last Publish of a start or reload.
  absl::Status SaveIndex();

  // Which files a service uses, by hash; none: it is forgotten.
  void SetUses(const std::string& service, std::vector<std::string> hashes);

  // Every file of the folder, by hash.
  absl::StatusOr<std::vector<ListedFile>> List() const;

  // Reads every file and compares it with its name; what is damaged is set aside, so that the next
  // publish brings it anew. For a person or once a day: it reads everything.
  absl::StatusOr<StoreCheck> Check();

  // Removes files whose hash is not in `keep`, that nobody links to (trees) and that are older than
  // `least_age` (another process may have published them just now).
  absl::StatusOr<StoreCollection> Collect(const std::set<std::string>& keep,
                                          absl::Duration least_age);

  const std::string& folder() const { return folder_.path(); }

 private:
  ModuleStore(StoreOptions options, StoreFolder folder, SourceIndex index)
      : options_(std::move(options)), folder_(std::move(folder)), index_(std::move(index)) {}

  // What the index says of this very state of the source, when the store has the file.
  std::optional<StoredFile> Known(const std::string& source, StoredKind kind) const;

  // Set in the constructor, never changed.
  const StoreOptions options_;
  const StoreFolder folder_;

  mutable Mutex mutex_;
  SourceIndex index_ ABSL_GUARDED_BY(mutex_);
  bool index_changed_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<std::string, std::vector<std::string>> uses_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace cohost::supervisor
