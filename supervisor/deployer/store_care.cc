// SPDX-License-Identifier: Apache-2.0
#include "supervisor/deployer/store_care.h"

#include <sys/stat.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/strings.h"
#include "supervisor/deployer/application_trees.h"
#include "supervisor/modules/signing/derived_record.h"
#include "supervisor/modules/signing/signature_store.h"
#include "supervisor/modules/store_folder.h"
#include "supervisor/modules/tree/tree_layout.h"

namespace cohost::supervisor {

namespace {

absl::Status ForgetRecords(const ModuleStore& store, const StoreCollection& collection) {
  const SignatureStore signatures(store.folder());
  const DerivedRecords derived(store.folder());
  for (const StoredFile& file : collection.removed) {
    const bool is_there =
        std::any_of(std::begin(kStoredKinds), std::end(kStoredKinds),
                    [&](StoredKind kind) { return store.Find(file.hash, kind).ok(); });
    if (is_there) continue;
    COHOST_RETURN_IF_ERROR(signatures.Forget(file.hash));
    COHOST_RETURN_IF_ERROR(derived.Forget(file.hash));
  }
  return absl::OkStatus();
}

// With what the manifests among the versions name.
std::set<std::string> HashesToKeep(const ModuleStore& store, const StoreNeeds& needs) {
  std::set<std::string> keep = needs.versions;
  for (const NeededFile& file : needs.files) keep.insert(file.hash);
  for (const std::string& version : needs.versions) {
    // Ignoring an error: it is a module or an image; or a manifest that is gone, of which nothing
    // can be laid out again.
    const absl::StatusOr<TreeManifest> manifest = ReadStoredManifest(store, version);
    if (!manifest.ok()) continue;
    for (std::string& hash : manifest->StoredHashes()) keep.insert(std::move(hash));
  }
  return keep;
}

// Every service's trees of those versions stay: workers that drain may still use the one before. So
// does what was laid out of a library as long as some version has the file.
absl::StatusOr<TreeCollection> CollectTrees(ModuleStore& store, const std::string& state,
                                            const std::set<std::string>& versions,
                                            const std::set<std::string>& hashes) {
  const std::string folder = absl::StrCat(state, "/trees");
  struct stat status {};
  if (::lstat(folder.c_str(), &status) != 0) return TreeCollection();
  COHOST_ASSIGN_OR_RETURN(const std::unique_ptr<TreeLayout> layout, TreeLayout::Open(store, state));
  COHOST_ASSIGN_OR_RETURN(const std::vector<std::string> services, NamesIn(folder));
  TreeLayout::TreeNames keep;
  for (const std::string& service : services) keep[service] = versions;
  return layout->Collect(keep, hashes, kLeastUnusedAge);
}

}  // namespace

absl::StatusOr<StoreOutcome> CareForStore(ModuleStore& store, const std::string& state,
                                          const StoreNeeds& needs, StoreTasks tasks) {
  StoreOutcome outcome;
  if (tasks.check) {
    COHOST_ASSIGN_OR_RETURN(outcome.check, store.Check());
    for (const NeededFile& file : needs.files) {
      if (store.Find(file.hash, file.kind).ok()) continue;
      outcome.missing.push_back(absl::StrCat("service '", file.service, "' needs ",
                                             AsAbsl(StoredKindName(file.kind)), " ", file.hash,
                                             ", copied from ", file.source));
    }
  }
  if (tasks.collect) {
    const std::set<std::string> hashes = HashesToKeep(store, needs);
    // Trees first: what only they have is nobody's then.
    COHOST_ASSIGN_OR_RETURN(TreeCollection trees,
                            CollectTrees(store, state, needs.versions, hashes));
    outcome.removed_trees = std::move(trees.removed);
    COHOST_ASSIGN_OR_RETURN(outcome.collection, store.Collect(hashes, kLeastUnusedAge));
    COHOST_RETURN_IF_ERROR(ForgetRecords(store, outcome.collection));
  }
  COHOST_RETURN_IF_ERROR(store.SaveIndex());
  return outcome;
}

}  // namespace cohost::supervisor
