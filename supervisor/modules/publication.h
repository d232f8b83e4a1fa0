// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/system/unique_fd.h"
#include "supervisor/modules/source_index.h"
#include "supervisor/modules/store_folder.h"
#include "supervisor/modules/stored_file.h"

namespace cohost::supervisor {

// Larger files are refused: a module or image of this size is a damaged or sparse file.
inline constexpr Bytes kMaxStoredFile = GiB(4);

// Reads a stored file and compares it with its name; its size. DATA_LOSS when it has other content
// or is not a regular file.
absl::StatusOr<Bytes> CheckStoredFile(const std::string& path, const StoredName& name);

// Files on their way into a store folder: copied and checked one by one, then synced together and
// named, so that either all are there or, after a power cut or a kill at any instruction, some with
// their full content and a staging folder that the next Open removes. Nothing of it can be seen
// before Commit; ended without it, nothing was. One thread at a time; the folder outlives it.
class Publication {
 public:
  // Up to so many files are synced one by one; more by one syncfs(2), which also writes what others
  // have unwritten on that file system.
  static constexpr size_t kMostSingleSyncs = 8;

  explicit Publication(const StoreFolder& folder) : folder_(folder) {}
  ~Publication();
  Publication(const Publication&) = delete;
  Publication& operator=(const Publication&) = delete;

  // Reads and hashes these sources on several threads, so that Add has to copy only what is new.
  // What cannot be read is left to Add.
  void HashAhead(const std::vector<std::string>& sources);

  struct Added {
    StoredFile file;  // `path` is the one that it has after Commit
    FileStamp stamp;  // the state of the source that was read
    bool is_new = false;
  };
  // Reads the source, and copies it when the store has no such content. INVALID_ARGUMENT when it is
  // not what `kind` says, is cut or not a regular file; ABORTED when it changed meanwhile;
  // RESOURCE_EXHAUSTED when it is larger than kMaxStoredFile or the disk is full. A source that
  // failed leaves the others as they are.
  absl::StatusOr<Added> Add(const std::string& source, StoredKind kind);

  // Content that has no source, for instance a manifest.
  absl::StatusOr<StoredFile> AddContent(std::string_view content, StoredKind kind);

  // A further copy of a stored file. DATA_LOSS when the file is not what its name says.
  absl::Status AddCopy(const StoredName& from, const StoredName& to);

  // Syncs and names everything that was added; once.
  absl::Status Commit();

 private:
  struct Staged {
    StoredName name;
    Bytes size;
    UniqueFd fd;  // only of the first kMostSingleSyncs
  };

  absl::Status MakeStaging();
  // The whole source into content_; its hash.
  absl::StatusOr<std::string> ReadWhole(int source, Bytes size);
  // The content into the staging folder, if it is new.
  absl::StatusOr<StoredFile> StageContent(const StoredName& name, std::string_view content,
                                          bool* is_new);
  // Bytes of the source into the staging folder; their hash.
  absl::StatusOr<StoredFile> Stage(int source, const FileStamp& stamp, StoredKind kind);
  // The content is in the store or staged already.
  bool Has(const StoredName& name, Bytes size) const;
  // A file of this kind and size may be there, so that reading alone may do.
  bool MayHave(StoredKind kind, Bytes size);
  // Gives the complete copy its place among those that Commit names.
  absl::Status Place(UniqueFd copy, const std::string& temporary, const StoredName& name,
                     Bytes size);
  absl::Status SyncStaged() const;
  std::string StagedPath(const StoredName& name) const;

  // Set in the constructor, never changed.
  const StoreFolder& folder_;
  // Of the calling thread.
  std::string staging_;  // empty: none is needed yet
  UniqueFd lock_;
  bool clones_ = true;  // until the file system says that it cannot
  bool sizes_read_ = false;
  std::set<std::pair<StoredKind, uint64_t>> sizes_;
  std::map<std::string, std::pair<FileStamp, std::string>> ahead_;  // hashes by source
  std::string buffer_;                                              // parts of files
  std::string content_;  // a small file, and room for the largest of them
  std::vector<Staged> staged_;
  std::set<std::string> staged_names_;
};

}  // namespace cohost::supervisor
