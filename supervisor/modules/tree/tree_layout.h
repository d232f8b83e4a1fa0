// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "supervisor/modules/module_store.h"
#include "supervisor/modules/tree/data_folder.h"
#include "supervisor/modules/tree/persist_rules.h"
#include "supervisor/modules/tree/tree_manifest.h"

namespace cohost::supervisor {

struct LaidTree {
  std::string path;  // STATE/trees/SERVICE/ID
  std::string data;  // STATE/data/SERVICE
  // What is laid out: the published one, and links to files of the data folder that `persist`
  // names. Its id is the tree's.
  TreeManifest manifest;
  bool is_new = false;
  std::vector<std::string> notices;
};

struct TreeCollection {
  std::vector<std::string> removed;  // paths
  // Kept only because they are younger than asked.
  uint64_t young = 0;
};

// The read-only files of services' revisions, STATE/trees/SERVICE/ID, one inode a content with the
// store and with each other, each service at a path of its own even when all is equal (.NET uses
// precompiled code only for the first that loads a path). A tree that can be seen is whole: it is
// made in a hidden folder beside, synced, and renamed. It never changes.
//
// Thread-safe for different services; one thread at a time for one service and for Collect. Blocks
// on the disk. The store outlives it; it needs the same file system (hard links).
class TreeLayout {
 public:
  // Makes the folders and removes what was being made or removed when its process died.
  static absl::StatusOr<std::unique_ptr<TreeLayout>> Open(ModuleStore& store, std::string state);

  // Lays the tree out, if it is not there, and gives the service's data folder what it lacks.
  // INVALID_ARGUMENT for a name that no service can have, NOT_FOUND when the store lacks a file
  // (publish the application again), DATA_LOSS when one is damaged; nothing can be seen then.
  absl::StatusOr<LaidTree> LayOut(const std::string& service, const TreeManifest& manifest,
                                  const PersistRules& persist, const DataOwner& owner);

  // Lays out a library that services share: `hash` is that of its stored file, `files` what goes
  // into the folder STATE/trees/+HASH/ID, whose path it returns. No service's name begins with '+'.
  // Errors as LayOut.
  absl::StatusOr<std::string> LayOutLibrary(const std::string& hash, const TreeManifest& files);

  // By service and id.
  using TreeNames = std::map<std::string, std::set<std::string>>;
  // Removes every tree that is not in `keep`, and every library whose hash is not in `libraries`,
  // that is older than `least_age` (it may have been laid out just now, by who will keep it). Data
  // folders stay. What is no tree is left alone.
  absl::StatusOr<TreeCollection> Collect(const TreeNames& keep,
                                         const std::set<std::string>& libraries,
                                         absl::Duration least_age);

  std::string PathOf(const std::string& service, const std::string& id) const;

 private:
  TreeLayout(ModuleStore& store, const std::string& state)
      : store_(store), trees_(state + "/trees"), data_(state + "/data") {}

  absl::Status RemoveLeftovers(const std::string& service) const;
  absl::Status Make(const std::string& service, const TreeManifest& manifest) const;
  absl::Status CollectService(const std::string& service, const std::set<std::string>& keep,
                              absl::Time oldest, TreeCollection& collection) const;

  ModuleStore& store_;
  const std::string trees_;
  const std::string data_;
};

}  // namespace cohost::supervisor
