// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "supervisor/config/deployment.h"
#include "supervisor/deployer/application_trees.h"
#include "supervisor/deployer/prepared_service.h"
#include "supervisor/dotnet/application_libraries.h"
#include "supervisor/dotnet/library_verdicts.h"
#include "supervisor/dotnet/worker_frameworks.h"

namespace cohost::supervisor {

// Makes what dotnet services share: each library that a service may share gets a folder of its own
// (TreeLayout::LayOutLibrary) with the assembly, its satellites and its native libraries, and with
// what it keeps inside (ReviewedLibrary). The
// folder's path says the content of all these files, and the same of everything that the library
// references outside of the framework. So services of one worker share exactly what has the same
// path: a library is never given to one that has another version of it, or of anything below it,
// and none depends on what its neighbours are. One thread at a time; blocks on the disk. The trees
// outlive it.
class SharedLibraries {
 public:
  struct Set {
    std::vector<std::string> paths;  // of assemblies, sorted
    // Lines for the operator: what is on the list and is not shared.
    std::vector<std::string> notices;
  };

  explicit SharedLibraries(ApplicationTrees& trees) : trees_(trees) {}

  // Of a service whose tree is there; nothing when it or its group does not share. Errors as
  // ReadLibraries and TreeLayout::LayOut.
  absl::StatusOr<Set> LayOut(const PreparedService& service, const DotnetPolicy& policy,
                             const DotnetRuntime& runtime);

 private:
  // Of one application; the verdicts are in the same order.
  struct JudgedLibraries {
    std::vector<Library> libraries;
    std::vector<LibraryVerdict> verdicts;
    const Library& Get(const std::string& name) const;
    const LibraryVerdict& VerdictOf(const Library& library) const;
  };

  absl::StatusOr<Set> Make(const PreparedService& service, const DotnetPolicy& policy,
                           const DotnetRuntime& runtime);
  absl::StatusOr<std::string> LayOutOne(const JudgedLibraries& all, const Library& library,
                                        const TreeManifest& tree);

  ApplicationTrees& trees_;
  // By tree and policy: many services are the same application.
  std::map<std::string, Set> made_;
};

}  // namespace cohost::supervisor
