// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "base/units.h"
#include "supervisor/modules/source_index.h"
#include "supervisor/modules/stored_file.h"

namespace cohost::supervisor {

// Larger files are refused: a module or image of this size is a damaged or sparse file.
inline constexpr Bytes kMaxStoredFile = GiB(4);

// The function that every module defines (worker/sdk/cohost.h).
inline constexpr char kModuleEntryPoint[] = "cohost_module_v1";

// Files that workers map, kept once by content: FOLDER/<SHA-256>.so (modules) and .img (data
// images), read-only, never changed. The folder is the truth; which source gave which hash is
// remembered in FOLDER/index (source_index.h), a cache that may be lost.
//
// Thread-safe. Publish reads, copies and syncs on the caller's thread: from the loop thread only
// while starting; for an unchanged source that is two stat calls.
class ModuleStore {
 public:
  // Makes the folder, removes what an interrupted publish left there, reads the index. `notices`:
  // lines for the log (an unreadable index is forgotten, never an error).
  static absl::StatusOr<std::unique_ptr<ModuleStore>> Open(std::string folder,
                                                           std::vector<std::string>* notices);

  // Copies the file into the store, checks the copy (elf_file.h, base/format/data_image_builder.h),
  // syncs it and gives it its name. Publishing the same content again answers the same file.
  // INVALID_ARGUMENT when it is not what `kind` says, is cut or not a regular file; ABORTED when it
  // changed meanwhile; RESOURCE_EXHAUSTED when it is larger than kMaxStoredFile; nothing enters the
  // store then.
  absl::StatusOr<StoredFile> Publish(const std::string& source, StoredKind kind);

  // Writes the index when it changed: after the last Publish of a start or reload.
  absl::Status SaveIndex();

  // Which files a service uses, by hash; none: it is forgotten.
  void SetUses(const std::string& service, std::vector<std::string> hashes);

  // Every file of the folder, by hash.
  absl::StatusOr<std::vector<ListedFile>> List() const;

  const std::string& folder() const { return folder_; }

 private:
  ModuleStore(std::string folder, SourceIndex index)
      : folder_(std::move(folder)), index_(std::move(index)) {}

  absl::StatusOr<StoredFile> CopyIn(const std::string& source, StoredKind kind,
                                    FileStamp* stamp) const;
  // Hashes and checks the copy and gives it its name.
  absl::StatusOr<StoredFile> Admit(int fd, const std::string& temporary, StoredKind kind,
                                   Bytes size) const;
  bool Holds(const StoredFile& file) const;
  std::string PathOf(const std::string& hash, StoredKind kind) const;

  // Set in the constructor, never changed.
  const std::string folder_;

  mutable Mutex mutex_;
  SourceIndex index_ ABSL_GUARDED_BY(mutex_);
  bool index_changed_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<std::string, std::vector<std::string>> uses_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace cohost::supervisor
