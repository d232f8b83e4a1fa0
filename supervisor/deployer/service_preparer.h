// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "supervisor/admin/host_control.h"
#include "supervisor/deployer/application_compiler.h"
#include "supervisor/deployer/application_trees.h"
#include "supervisor/deployer/prepared_service.h"
#include "supervisor/deployer/service_place.h"
#include "supervisor/deployer/shared_libraries.h"
#include "supervisor/dotnet/worker_frameworks.h"
#include "supervisor/modules/module_store.h"
#include "supervisor/modules/tree/data_folder.h"

namespace cohost::supervisor {

// Where the files of a service come from.
enum class FileOrigin {
  kSources,        // the paths that the deployment names
  kStore,          // kept ones, compared with their hashes
  kStoreAsItRuns,  // kept ones, which workers have in use
};

// Makes single services ready: their files in the store, their secrets resolved. Modules and images
// go into the batch, which the caller commits; trees of applications are published at once. One
// thread, which may wait for disks; everything given outlives it.
class ServicePreparer {
 public:
  struct Parts {
    ModuleStore& store;
    ModuleStore::Batch& batch;
    ApplicationTrees& trees;
    SharedLibraries& libraries;
    // .NET on this machine. Where there is none the caller says so: nothing here does.
    const absl::StatusOr<DotnetRuntime>* dotnet;
    const std::string& state_dir;
    Compiling compiling;
    // Lines for people, and what is wrong: with problems the service is not to be used.
    std::vector<std::string>& remarks;
    std::vector<ConfigProblem>& problems;
  };
  explicit ServicePreparer(const Parts& parts) : parts_(parts) {}

  // `files`: of origins but kSources.
  PreparedService Prepare(const Service& service, FileOrigin origin, const ServiceFiles& files,
                          const ServicePlace& place) const;

 private:
  absl::StatusOr<StoredFile> Module(const Service& service, FileOrigin origin,
                                    const ServiceFiles& files) const;
  absl::StatusOr<StoredFile> Image(const std::string& name, const std::string& source,
                                   FileOrigin origin, const ServiceFiles& files) const;
  absl::StatusOr<ApplicationTree> Tree(const Service& service, FileOrigin origin,
                                       const ServiceFiles& files, const DataOwner& owner) const;
  // Machine code for what was published.
  absl::StatusOr<TreeManifest> Compile(const TreeManifest& manifest, const std::string& app,
                                       std::vector<std::string>& notices) const;
  absl::StatusOr<StoredFile> Stored(const std::string& hash, StoredKind kind,
                                    FileOrigin origin) const;
  void PrepareNative(FileOrigin origin, const ServiceFiles& files, PreparedService& out) const;
  void PrepareDotnet(FileOrigin origin, const ServiceFiles& files, const ServicePlace& place,
                     PreparedService& out) const;
  // Whether the application may run here, and beside others. Of what `runs` already only the
  // latter is asked.
  void CheckDotnet(PreparedService& service, bool runs) const;
  void ShareLibraries(const DotnetPolicy& policy, FileOrigin origin, PreparedService& out) const;
  void Remark(const PreparedService& service, const std::string& text) const;
  // A problem of the service's key.
  void Fail(const PreparedService& service, std::string_view key, const absl::Status& status) const;

  const Parts parts_;
};

}  // namespace cohost::supervisor
