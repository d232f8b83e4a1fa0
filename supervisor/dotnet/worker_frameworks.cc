// SPDX-License-Identifier: Apache-2.0
#include "supervisor/dotnet/worker_frameworks.h"

#include <optional>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "supervisor/dotnet/runtime_config.h"

namespace cohost::supervisor {

FrameworkVersions DotnetRuntime::Usual() const {
  FrameworkVersions versions;
  for (const auto& [name, framework] : frameworks) versions.emplace(name, framework.version);
  return versions;
}

absl::StatusOr<WorkerFramework> ReadFramework(const DotnetInstallation& installation,
                                              const std::string& name,
                                              const ReleaseVersion& version) {
  COHOST_ASSIGN_OR_RETURN(
      DepsFile deps,
      DepsFile::Read(absl::StrCat(installation.FolderOf(name, version), "/", name, ".deps.json")));
  return WorkerFramework{version, std::move(deps.assemblies)};
}

absl::StatusOr<DotnetRuntime> FindDotnetRuntime(const DotnetPlaces& places) {
  DotnetRuntime runtime;
  COHOST_ASSIGN_OR_RETURN(runtime.installation, FindDotnet(places));
  const DotnetInstallation& installation = runtime.installation;
  const ReleaseVersion built_for{kShimMajor, 0, 0};
  for (const char* name : {kCoreFramework, kWebFramework}) {
    const FrameworkReference needed{name, built_for, RollForward::kMajor};
    const auto installed = installation.frameworks.find(name);
    std::optional<ReleaseVersion> version =
        needed.Resolve(installed == installation.frameworks.end() ? std::set<ReleaseVersion>()
                                                                  : installed->second);
    if (!version) {
      return absl::NotFoundError(absl::StrCat(
          "the .NET in ", installation.root, " has no ", name, " ", built_for.major, ".",
          built_for.minor,
          " or later; install the ASP.NET Core runtime (package aspnetcore-runtime-",
          built_for.major, ".", built_for.minor, "), or write in host.dotnet.root where one is"));
    }
    COHOST_ASSIGN_OR_RETURN(WorkerFramework framework, ReadFramework(installation, name, *version));
    runtime.frameworks.emplace(name, std::move(framework));
  }
  return runtime;
}

}  // namespace cohost::supervisor
