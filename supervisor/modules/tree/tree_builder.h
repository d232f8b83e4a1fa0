// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "supervisor/modules/module_store.h"
#include "supervisor/modules/tree/tree_manifest.h"

namespace cohost::supervisor {

// Where a link of a tree at TREES/SERVICE/ID/`path` to the same path of DATA/SERVICE points:
// relative, so that the state folder can be moved.
std::string DataLinkTarget(const std::string& service, const std::string& path);

// Makes what a manifest says in an empty folder that nobody else sees yet: files 0444 or 0555,
// folders 0555. A copied file has the time of modification of the stored one, which tells later
// whether it was written. Blocks on the disk; one thread; the store outlives it.
class TreeBuilder {
 public:
  // `folder` will be TREES/SERVICE/ID.
  TreeBuilder(ModuleStore& store, std::string service, std::string folder)
      : store_(store), service_(std::move(service)), folder_(std::move(folder)) {}

  // Durable when it returns OK, apart from the name of the folder itself. NOT_FOUND when the store
  // lacks a file, DATA_LOSS when one is damaged; then a part of it is there.
  absl::Status Build(const TreeManifest& manifest);

 private:
  absl::Status MakeFolderOf(const std::string& path);
  absl::Status MakeFolder(const std::string& path);
  absl::Status AddEntry(const TreeEntry& entry);
  absl::Status AddFile(const TreeEntry& entry);
  absl::Status AddCopy(const TreeEntry& entry, const StoredFile& stored);
  absl::Status AddLink(const std::string& target, const std::string& path);
  // Of the store; each looked up once.
  absl::StatusOr<StoredFile> Find(const TreeEntry& entry);
  absl::Status CloseFolders();
  std::string PathOf(const std::string& path) const { return folder_ + "/" + path; }

  ModuleStore& store_;
  const std::string service_;
  const std::string folder_;
  std::set<std::string> folders_;
  std::map<std::pair<std::string, StoredKind>, StoredFile> found_;
};

}  // namespace cohost::supervisor
