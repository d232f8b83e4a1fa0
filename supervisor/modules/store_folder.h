// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "supervisor/modules/stored_file.h"

namespace cohost::supervisor {

// The name of a stored file: HASH.EXTENSION, or HASH.N.EXTENSION (N from 2) for a further copy of
// the same content, which exists when the first has as many hard links as a file may have.
struct StoredName {
  std::string hash;
  StoredKind kind = StoredKind::kModule;
  uint32_t copy = 1;

  std::string ToString() const;
  static std::optional<StoredName> Parse(std::string_view name);
  friend bool operator==(const StoredName&, const StoredName&) = default;
};

// 0555 for what is mapped or run as code of the system's loader, else 0444.
mode_t ModeOf(StoredKind kind);

// Names in a folder without "." and "..", sorted.
absl::StatusOr<std::vector<std::string>> NamesIn(const std::string& folder);

// OK for file systems on which a name can be given atomically, hard links exist and written data
// stays: `type` is f_type of statfs(2). FAILED_PRECONDITION naming the file system otherwise (NFS,
// SMB, FUSE, 9p, FAT, ...).
absl::Status CheckFileSystem(int64_t type);

// A folder of content-addressed, read-only files, as the file system sees it: no index, no lock in
// memory, so that several processes can use one. What is there was whole and synced before it got
// its name. Thread-safe: it holds nothing but the path.
class StoreFolder {
 public:
  // Damaged files are set aside here, with the time in their names; never deleted.
  static constexpr char kDamaged[] = "damaged";
  // Of unfinished publications: folders of their own, locked (flock) while their owner lives.
  static constexpr char kStaging[] = ".publish-";

  // Makes the folder, checks its file system, and removes what dead publishers left.
  static absl::StatusOr<StoreFolder> Open(std::string path);

  std::string PathOf(const StoredName& name) const;
  // Whether the file is there with this size (and is a regular file that nobody may write).
  bool Holds(const StoredName& name, Bytes size) const;
  // Every file with a name of the store, sorted by name.
  absl::StatusOr<std::vector<StoredName>> List() const;

  // Gives a complete, synced file its name. True when it got it; false when the same content was
  // there already, then `staged` still has its name. A file of another size under that name is
  // damaged and set aside first. The caller syncs the folder afterwards.
  absl::StatusOr<bool> Admit(const std::string& staged, const StoredName& name, Bytes size) const;
  absl::Status Sync() const;
  // Renames the file into the folder of damaged ones; its new path.
  absl::StatusOr<std::string> SetAside(const std::string& name) const;

  const std::string& path() const { return path_; }

 private:
  explicit StoreFolder(std::string path) : path_(std::move(path)) {}
  // The folder of a publication whose owner is dead goes; one that is locked stays.
  absl::Status RemoveStaging(const std::string& name) const;

  std::string path_;
};

}  // namespace cohost::supervisor
