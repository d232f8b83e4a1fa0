// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "supervisor/config/deployment.h"
#include "supervisor/modules/module_store.h"
#include "supervisor/modules/tree/data_folder.h"
#include "supervisor/modules/tree/tree_layout.h"
#include "supervisor/modules/tree/tree_manifest.h"

namespace cohost::supervisor {

// One version of an application as its workers get it.
struct ApplicationTree {
  // As PreparedService::module.
  StoredFile app;
  std::shared_ptr<const TreeManifest> manifest;
  // Lines for the operator.
  std::vector<std::string> notices;
};

// Makes the trees of dotnet services: what is in their folder goes into the store, with a manifest
// that the store has by the tree's id, and is laid out in STATE/trees/SERVICE/ID; the data folder
// STATE/data/SERVICE gets what the service's `persist` names. Nothing is made on hosts without such
// services. One thread at a time; blocks on the disk. The store outlives it.
class ApplicationTrees {
 public:
  ApplicationTrees(ModuleStore& store, std::string state)
      : store_(store), state_(std::move(state)) {}

  // What is done to a published tree before it is laid out; adds lines for the operator.
  using Change = std::function<absl::StatusOr<TreeManifest>(
      const TreeManifest& manifest, const std::string& app, std::vector<std::string>& notices)>;

  // The folder of the service's `app` as it is now, changed by `change` unless that is null. Errors
  // as PublishTree, `change` and TreeLayout::LayOut; INVALID_ARGUMENT when `app` is no .NET
  // assembly.
  absl::StatusOr<ApplicationTree> Publish(const Service& service, const DataOwner& owner,
                                          const Change& change = nullptr);

  // A version that was published before, laid out again if its tree is gone.
  absl::StatusOr<ApplicationTree> Restore(const Service& service, const std::string& id,
                                          const DataOwner& owner);

  // The same for a service that goes on as it is: a tree that is there is taken as it is.
  absl::StatusOr<ApplicationTree> Resume(const Service& service, const std::string& id,
                                         const DataOwner& owner);

  // As TreeLayout::LayOutLibrary, with one more file that has the text `references`, which the id
  // follows: what the library is bound to.
  absl::StatusOr<std::string> LayOutLibrary(const std::string& hash, std::vector<TreeEntry> files,
                                            const std::string& references);

 private:
  absl::StatusOr<TreeLayout*> Layout();
  absl::StatusOr<ApplicationTree> LayOut(const Service& service, const TreeManifest& manifest,
                                         const DataOwner& owner);
  absl::StatusOr<ApplicationTree> Describe(const Service& service, StoredFile manifest_file,
                                           TreeManifest manifest, const std::string& tree) const;

  ModuleStore& store_;
  const std::string state_;
  std::unique_ptr<TreeLayout> layout_;
};

// The manifest that the store has by that id. NOT_FOUND when it is not there, DATA_LOSS when it is
// something else.
absl::StatusOr<TreeManifest> ReadStoredManifest(const ModuleStore& store, const std::string& id);

}  // namespace cohost::supervisor
