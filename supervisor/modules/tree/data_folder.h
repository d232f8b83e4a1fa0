// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/system/unique_fd.h"
#include "supervisor/modules/module_store.h"
#include "supervisor/modules/tree/persist_rules.h"
#include "supervisor/modules/tree/tree_manifest.h"

namespace cohost::supervisor {

// To whom what is made in a data folder belongs: the user of the service's worker. Unset: to us,
// which is right when the worker has our own identity. The group is always ours: a supervisor
// without CAP_DAC_OVERRIDE could put nothing there otherwise.
struct DataOwner {
  std::optional<uid_t> uid;
};

// What one service may write and keeps over its revisions: DATA/SERVICE, the service's own, with
// the group and mode (02770, as every folder that is made in it) that let us put seeds there. So
// whatever is in it is hostile: symbolic links in it are never followed, existing files never
// opened or changed. Which seeds it once got stands in DATA/.seeds/SERVICE, where only we write, so
// that a seed that the service removed does not come back:
//
//   cohost-seeds 1
//   PATH            as EscapeWord writes it, one line each
//
// A record that does not read so is taken for none: seeds are put where nothing is.
// Blocks on the disk. One thread at a time for one service.
class DataFolder {
 public:
  // Files of the data folder that one tree links at most by wildcards, and names that are looked at
  // for it.
  static constexpr size_t kMostKept = 1000;
  static constexpr size_t kMostLookedAt = 20'000;

  // Makes it. `data`: the folder of all services' data folders.
  static absl::StatusOr<DataFolder> Open(const std::string& data, const std::string& service,
                                         const DataOwner& owner);
  // At a start: what an interrupted seeding left.
  static absl::Status RemoveLeftovers(const std::string& data);

  // The manifest with links to files that are in the data folder and that `persist` names, though
  // the published folder had none of that name.
  absl::StatusOr<TreeManifest> WithKeptFiles(const TreeManifest& manifest,
                                             const PersistRules& persist,
                                             std::vector<std::string>* notices) const;

  // Puts seeds of the manifest where nothing is, if they never were put before; makes the folders
  // that data links point to or into. Durable when it returns. What the service has in the way is
  // left, with a notice.
  absl::Status Seed(const TreeManifest& manifest, const ModuleStore& store,
                    std::vector<std::string>* notices) const;

  const std::string& path() const { return path_; }

 private:
  DataFolder(std::string data, std::string service, DataOwner owner, UniqueFd fd)
      : data_(std::move(data)),
        service_(std::move(service)),
        path_(data_ + "/" + service_),
        owner_(owner),
        fd_(std::move(fd)) {}

  absl::StatusOr<UniqueFd> MakeFolder(const std::string& path) const;
  absl::Status PutFile(const TreeSeed& seed, const ModuleStore& store) const;
  absl::Status FillFile(int to, const TreeSeed& seed, const StoredFile& stored) const;
  // Of what we just made, or could not finish before; `mode` is of folders and files.
  absl::Status Own(int fd, mode_t mode) const;

  std::string data_;
  std::string service_;
  std::string path_;
  DataOwner owner_;
  UniqueFd fd_;
};

}  // namespace cohost::supervisor
