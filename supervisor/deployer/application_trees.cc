// SPDX-License-Identifier: Apache-2.0
#include "supervisor/deployer/application_trees.h"

#include <sys/stat.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/strings.h"
#include "base/system/file.h"
#include "supervisor/modules/tree/persist_rules.h"
#include "supervisor/modules/tree/tree_publisher.h"

namespace cohost::supervisor {
namespace {

constexpr char kReferences[] = "references";

std::string FolderOfApp(const Service& service) {
  const size_t slash = service.dotnet.app.rfind('/');
  return slash == 0 ? "/" : service.dotnet.app.substr(0, slash);
}

std::string NameOfApp(const Service& service) {
  return service.dotnet.app.substr(service.dotnet.app.rfind('/') + 1);
}

bool IsFolder(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

}  // namespace

absl::StatusOr<TreeManifest> ReadStoredManifest(const ModuleStore& store, const std::string& id) {
  COHOST_ASSIGN_OR_RETURN(const StoredFile file, store.Find(id, StoredKind::kFile));
  COHOST_ASSIGN_OR_RETURN(const std::string text, ReadRegularFile(file.path, kMaxManifestText));
  absl::StatusOr<TreeManifest> manifest = TreeManifest::Parse(text);
  if (!manifest.ok() || manifest->id() != id) {
    return absl::DataLossError(absl::StrCat("'", file.path, "' is no manifest of that name"));
  }
  return manifest;
}

absl::StatusOr<TreeLayout*> ApplicationTrees::Layout() {
  if (layout_ == nullptr) {
    COHOST_ASSIGN_OR_RETURN(layout_, TreeLayout::Open(store_, state_));
  }
  return layout_.get();
}

absl::StatusOr<ApplicationTree> ApplicationTrees::Publish(const Service& service,
                                                          const DataOwner& owner,
                                                          const Change& change) {
  COHOST_ASSIGN_OR_RETURN(const PersistRules persist, PersistRules::Parse(service.dotnet.persist));
  COHOST_ASSIGN_OR_RETURN(PublishedTree published,
                          PublishTree(store_, FolderOfApp(service), persist));
  if (change) {
    COHOST_ASSIGN_OR_RETURN(published.manifest,
                            change(published.manifest, NameOfApp(service), published.notices));
  }
  COHOST_ASSIGN_OR_RETURN(ApplicationTree tree, LayOut(service, published.manifest, owner));
  tree.notices.insert(tree.notices.begin(), published.notices.begin(), published.notices.end());
  return tree;
}

absl::StatusOr<ApplicationTree> ApplicationTrees::Restore(const Service& service,
                                                          const std::string& id,
                                                          const DataOwner& owner) {
  COHOST_ASSIGN_OR_RETURN(const TreeManifest manifest, ReadStoredManifest(store_, id));
  return LayOut(service, manifest, owner);
}

absl::StatusOr<ApplicationTree> ApplicationTrees::Resume(const Service& service,
                                                         const std::string& id,
                                                         const DataOwner& owner) {
  COHOST_ASSIGN_OR_RETURN(TreeManifest manifest, ReadStoredManifest(store_, id));
  COHOST_ASSIGN_OR_RETURN(TreeLayout* const layout, Layout());
  const std::string path = layout->PathOf(service.name, id);
  if (!IsFolder(path)) return LayOut(service, manifest, owner);
  COHOST_ASSIGN_OR_RETURN(StoredFile file, store_.Find(id, StoredKind::kFile));
  return Describe(service, std::move(file), std::move(manifest), path);
}

absl::StatusOr<ApplicationTree> ApplicationTrees::LayOut(const Service& service,
                                                         const TreeManifest& manifest,
                                                         const DataOwner& owner) {
  COHOST_ASSIGN_OR_RETURN(const PersistRules persist, PersistRules::Parse(service.dotnet.persist));
  COHOST_ASSIGN_OR_RETURN(TreeLayout* const layout, Layout());
  COHOST_ASSIGN_OR_RETURN(LaidTree laid, layout->LayOut(service.name, manifest, persist, owner));
  COHOST_ASSIGN_OR_RETURN(StoredFile file,
                          store_.PublishContent(laid.manifest.Format(), StoredKind::kFile));
  COHOST_ASSIGN_OR_RETURN(ApplicationTree tree,
                          Describe(service, std::move(file), std::move(laid.manifest), laid.path));
  tree.notices = std::move(laid.notices);
  return tree;
}

absl::StatusOr<std::string> ApplicationTrees::LayOutLibrary(const std::string& hash,
                                                            std::vector<TreeEntry> files,
                                                            const std::string& references) {
  COHOST_ASSIGN_OR_RETURN(const StoredFile text,
                          store_.PublishContent(references, StoredKind::kFile));
  files.push_back(
      {.path = kReferences, .size = text.size, .source_hash = text.hash, .stored_hash = text.hash});
  COHOST_ASSIGN_OR_RETURN(const TreeManifest manifest, TreeManifest::Create(std::move(files), {}));
  COHOST_ASSIGN_OR_RETURN(TreeLayout* const layout, Layout());
  return layout->LayOutLibrary(hash, manifest);
}

absl::StatusOr<ApplicationTree> ApplicationTrees::Describe(const Service& service,
                                                           StoredFile manifest_file,
                                                           TreeManifest manifest,
                                                           const std::string& tree) const {
  const std::string name = NameOfApp(service);
  const TreeEntry* app = manifest.Find(name);
  // Through a link it would be another application's part: which one is loaded has to be plain.
  if (app == nullptr || app->type != TreeEntry::Type::kFile || app->kind != StoredKind::kAssembly) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", name,
                     "' is no .NET assembly; name the main assembly of the application, "
                     "as `dotnet publish` writes it"));
  }
  ApplicationTree described;
  described.app = std::move(manifest_file);
  described.app.path = absl::StrCat(tree, "/", name);
  described.manifest = std::make_shared<const TreeManifest>(std::move(manifest));
  return described;
}

}  // namespace cohost::supervisor
