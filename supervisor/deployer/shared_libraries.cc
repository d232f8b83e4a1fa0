// SPDX-License-Identifier: Apache-2.0
#include "supervisor/deployer/shared_libraries.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "supervisor/config/library_name.h"

namespace cohost::supervisor {
namespace {

// What is the framework's and what an application's is known of the usual versions only.
bool Shares(const PreparedService& service, const DotnetPolicy& policy,
            const DotnetRuntime& runtime) {
  return policy.share_libraries != LibrarySharing::kNone &&
         service.service.dotnet.share_libraries &&
         service.hosting.isolation == Isolation::kShared &&
         service.hosting.frameworks == runtime.Usual();
}

// The file of the tree under the name that it has beside the library.
absl::Status AddFile(const TreeManifest& tree, const std::string& path, const std::string& name,
                     std::vector<TreeEntry>& files) {
  const TreeEntry* const entry = tree.Find(path);
  if (entry == nullptr || entry->type != TreeEntry::Type::kFile) {
    return absl::InvalidArgumentError(absl::StrCat("'", path, "' is no file of its own"));
  }
  files.push_back(*entry);
  files.back().path = name;
  return absl::OkStatus();
}

absl::StatusOr<std::vector<TreeEntry>> FilesOf(const Library& library, const TreeManifest& tree) {
  std::vector<TreeEntry> files;
  const std::string assembly = absl::StrCat(library.name, ".dll");
  COHOST_RETURN_IF_ERROR(AddFile(tree, assembly, assembly, files));
  for (const std::string& path : library.satellites) {
    COHOST_RETURN_IF_ERROR(AddFile(tree, path, path, files));
  }
  for (const std::string& path : library.native_libraries) {
    COHOST_RETURN_IF_ERROR(AddFile(tree, path, path.substr(path.rfind('/') + 1), files));
  }
  return files;
}

}  // namespace

absl::StatusOr<SharedLibraries::Set> SharedLibraries::LayOut(const PreparedService& service,
                                                             const DotnetPolicy& policy,
                                                             const DotnetRuntime& runtime) {
  if (!Shares(service, policy, runtime)) return Set();
  const std::string& app = service.module.path;
  const std::string key = absl::StrCat(service.tree->id(), "/", app.substr(app.rfind('/') + 1),
                                       "\n", static_cast<int>(policy.share_libraries), "\n",
                                       absl::StrJoin(policy.shared_libraries, "\n"));
  const auto found = made_.find(key);
  if (found != made_.end()) return found->second;
  COHOST_ASSIGN_OR_RETURN(Set set, Make(service, policy, runtime));
  made_.emplace(key, set);
  return set;
}

const Library& SharedLibraries::JudgedLibraries::Get(const std::string& name) const {
  return *std::find_if(libraries.begin(), libraries.end(),
                       [&](const Library& each) { return each.name == name; });
}

const LibraryVerdict& SharedLibraries::JudgedLibraries::VerdictOf(const Library& library) const {
  return verdicts[static_cast<size_t>(&library - libraries.data())];
}

absl::StatusOr<SharedLibraries::Set> SharedLibraries::Make(const PreparedService& service,
                                                           const DotnetPolicy& policy,
                                                           const DotnetRuntime& runtime) {
  std::vector<LibraryName> listed;
  for (const std::string& text : policy.shared_libraries) {
    COHOST_ASSIGN_OR_RETURN(LibraryName name, LibraryName::Parse(text));
    listed.push_back(std::move(name));
  }
  JudgedLibraries all;
  COHOST_ASSIGN_OR_RETURN(all.libraries, ReadLibraries(service.module.path, runtime));
  all.verdicts = JudgeLibraries(all.libraries, listed);
  Set set;
  for (const Library& library : all.libraries) {
    const LibraryVerdict& verdict = all.VerdictOf(library);
    if (verdict.shares()) {
      COHOST_ASSIGN_OR_RETURN(std::string path, LayOutOne(all, library, *service.tree));
      set.paths.push_back(std::move(path));
    } else if (verdict.is_expected) {
      set.notices.push_back(absl::StrCat(
          "it has ", library.name, " for itself, although the list has it: ", verdict.reason));
    }
  }
  std::sort(set.paths.begin(), set.paths.end());
  return set;
}

absl::StatusOr<std::string> SharedLibraries::LayOutOne(const JudgedLibraries& all,
                                                       const Library& library,
                                                       const TreeManifest& tree) {
  // Everything that decides what the library is, and the same of all below it.
  std::string references;
  for (const std::string& name : ClosureOf(library, all.libraries)) {
    std::vector<std::string> parts = all.VerdictOf(all.Get(name)).bound;
    parts.push_back(name);
    for (const std::string& part : parts) {
      COHOST_ASSIGN_OR_RETURN(const std::vector<TreeEntry> files, FilesOf(all.Get(part), tree));
      for (const TreeEntry& file : files) {
        absl::StrAppend(&references, name, " ", file.path, " ", file.stored_hash, "\n");
      }
    }
  }
  COHOST_ASSIGN_OR_RETURN(std::vector<TreeEntry> files, FilesOf(library, tree));
  const std::string hash = files.front().stored_hash;
  for (const std::string& name : all.VerdictOf(library).inside) {
    const std::string assembly = absl::StrCat(name, ".dll");
    COHOST_RETURN_IF_ERROR(AddFile(tree, assembly, assembly, files));
  }
  COHOST_ASSIGN_OR_RETURN(const std::string folder,
                          trees_.LayOutLibrary(hash, std::move(files), references));
  return absl::StrCat(folder, "/", library.name, ".dll");
}

}  // namespace cohost::supervisor
