// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/system/unique_fd.h"
#include "supervisor/modules/source_index.h"
#include "supervisor/modules/tree/relative_path.h"
#include "supervisor/modules/tree/tree_manifest.h"

namespace cohost::supervisor {

// One name in a folder, as lstat(2) saw it.
struct WalkedEntry {
  enum class Type { kFile, kFolder, kLink, kOther };  // kOther: pipes, sockets, devices
  std::string path;                                   // relative to the folder walked
  Type type = Type::kFile;
  mode_t mode = 0;     // permissions only
  uint64_t links = 0;  // hard links
  FileStamp stamp{};
  std::string target{};  // of a link, as it is

  friend bool operator==(const WalkedEntry&, const WalkedEntry&) = default;
};

struct WalkLimits {
  size_t entries = kMaxTreeEntries;
  size_t depth = kMaxTreeDepth;
  // Folders for which it is false are listed, but not gone into. Unset: all are.
  std::function<bool(const std::string& path)> enter{};
};

struct Walk {
  std::vector<WalkedEntry> entries;  // sorted by path, without the folder itself
  // The first name that the limits left out; empty: all is there.
  std::string left_out;
};

// Everything in the folder behind the descriptor. Follows no symbolic link; what vanishes meanwhile
// is left out, so folders that others write to can be walked.
absl::StatusOr<Walk> WalkFolder(int folder, const WalkLimits& limits = {});

// openat(2) name by name, none of which may be a symbolic link (ELOOP or ENOTDIR:
// FAILED_PRECONDITION or another error, never something outside the folder). `path` as
// CheckRelativePath wants it.
absl::StatusOr<UniqueFd> OpenBelow(int folder, const std::string& path, int flags, mode_t mode = 0);

// The folder of `path` the same way; the folder itself for a path of one name.
absl::StatusOr<UniqueFd> OpenFolderOf(int folder, const std::string& path);
// The last name of `path`.
std::string NameOf(const std::string& path);

}  // namespace cohost::supervisor
