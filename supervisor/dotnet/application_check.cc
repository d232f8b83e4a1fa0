// SPDX-License-Identifier: Apache-2.0
#include "supervisor/dotnet/application_check.h"

#include <fcntl.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/strings.h"
#include "base/system/file.h"
#include "supervisor/dotnet/deps_file.h"
#include "supervisor/dotnet/runtime_config.h"
#include "supervisor/dotnet/sharing_rules.h"
#include "supervisor/modules/verify/assembly_file.h"

namespace cohost::supervisor {
namespace {

using enum Finding::Weight;

constexpr std::string_view kDll = ".dll";
constexpr std::string_view kPublish = "publish it with `dotnet publish --self-contained false`";

// Settings of the runtime, of which a worker has one; what of them only decides about memory and
// speed, and stands in every web application, is left out.
constexpr std::string_view kRuntimeProperties[] = {
    "System.Globalization.Invariant", "System.Globalization.PredefinedCulturesOnly",
    "System.Runtime.TieredCompilation", "System.GC.HeapHardLimit", "System.GC.HeapCount"};

std::string FileName(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));
}

// One check of one application.
class Check {
 public:
  Check(const std::string& app, const DotnetRuntime& runtime)
      : app_(app),
        folder_(app.substr(0, app.rfind('/'))),
        stem_(app.substr(0, app.size() - kDll.size())),
        runtime_(runtime) {}

  Verdict Run() {
    CheckConfig();
    CheckDeps();
    for (const std::string& name : own_) CheckOwn(name);
    return std::move(verdict_);
  }

 private:
  void CheckConfig() {
    const absl::StatusOr<RuntimeConfig> config =
        RuntimeConfig::Read(absl::StrCat(stem_, ".runtimeconfig.json"));
    if (absl::IsNotFound(config.status())) {
      verdict_.Add(kRefused, absl::StrCat("'", FileName(stem_), ".runtimeconfig.json' is missing"),
                   "name the main assembly of a published application");
      return;
    }
    if (!config.ok()) {
      verdict_.Add(kRefused, std::string(config.status().message()), "publish it again");
      return;
    }
    if (config->is_self_contained) {
      verdict_.Add(kRefused,
                   "it brings a runtime of its own (self-contained), and a worker has one for all",
                   std::string(kPublish));
      return;
    }
    if (config->Find(kWebFramework) == nullptr) {
      verdict_.Add(
          kRefused,
          absl::StrCat("it is no ASP.NET Core application: its runtimeconfig.json names no ",
                       kWebFramework),
          "build it with Sdk=\"Microsoft.NET.Sdk.Web\"");
    }
    for (const FrameworkReference& framework : config->frameworks) CheckFramework(framework);
    CheckProperties(*config);
  }

  void CheckFramework(const FrameworkReference& framework) {
    const std::string needs =
        absl::StrCat("it needs ", framework.name, " ", framework.version.ToString());
    const auto found = runtime_.installation.frameworks.find(framework.name);
    const std::optional<ReleaseVersion> alone = found == runtime_.installation.frameworks.end()
                                                    ? std::nullopt
                                                    : framework.Resolve(found->second);
    if (!alone) {
      verdict_.Add(kRefused, absl::StrCat(needs, ", which is not in ", runtime_.installation.root),
                   absl::StrCat("install that version of the ASP.NET Core runtime (package "
                                "aspnetcore-runtime-",
                                framework.version.major, ".", framework.version.minor,
                                "), or build it for another"));
      return;
    }
    verdict_.frameworks[framework.name] = *alone;
    if (!runtime_.frameworks.contains(framework.name)) {
      verdict_.Add(kSolo, absl::StrCat(needs, ", which shared workers do not have"));
    } else if (alone->major < kShimMajor && framework.name == kCoreFramework) {
      const std::string own = absl::StrCat(kShimMajor, ".0");
      verdict_.Add(kRefused,
                   absl::StrCat(needs, " and would run with ", alone->ToString(),
                                "; workers run .NET ", own, " and later"),
                   absl::StrCat("build it for net", own,
                                ", or with <RollForward>LatestMajor</RollForward>"));
    } else if (const ReleaseVersion& usual = runtime_.frameworks.at(framework.name).version;
               *alone != usual) {
      verdict_.Add(kNote, absl::StrCat("it runs with ", framework.name, " ", alone->ToString(),
                                       " and shares workers with those that do; others have ",
                                       usual.ToString()));
    }
  }

  void CheckProperties(const RuntimeConfig& config) {
    for (const std::string_view name : kRuntimeProperties) {
      const auto property = config.properties.find(std::string(name));
      if (property == config.properties.end() || property->second == "false") continue;
      verdict_.Add(kWarning,
                   absl::StrCat("its runtimeconfig.json sets ", AsAbsl(name),
                                ", which is one for all applications of a worker"),
                   "see groups[].dotnet");
    }
  }

  // Without the file .NET takes every assembly of the folder, and only the main one is known to be
  // the application's own.
  void CheckDeps() {
    own_ = {FileName(app_)};
    const absl::StatusOr<DepsFile> deps = DepsFile::Read(absl::StrCat(stem_, ".deps.json"));
    if (absl::IsNotFound(deps.status())) return;
    if (!deps.ok()) {
      verdict_.Add(kRefused, std::string(deps.status().message()), "publish it again");
      return;
    }
    for (const std::string& name : deps->own) {
      if (std::find(own_.begin(), own_.end(), name) == own_.end()) own_.push_back(name);
    }
    for (const auto& [name, usual] : runtime_.frameworks) {
      const auto own = verdict_.frameworks.find(name);
      if (own == verdict_.frameworks.end()) continue;
      if (own->second == usual.version) {
        CheckNewer(*deps, name, usual);
        continue;
      }
      const absl::StatusOr<WorkerFramework> other =
          ReadFramework(runtime_.installation, name, own->second);
      if (other.ok()) {
        CheckNewer(*deps, name, *other);
      } else {
        verdict_.Add(kRefused, std::string(other.status().message()), "install .NET again");
      }
    }
  }

  // Alone, the newer of two assemblies of one name counts; in a worker that of the framework.
  void CheckNewer(const DepsFile& deps, const std::string& name, const WorkerFramework& framework) {
    for (const auto& [assembly, own] : deps.assemblies) {
      const auto other = framework.assemblies.find(assembly);
      if (other == framework.assemblies.end() || own <= other->second) continue;
      const ReleaseVersion& version = framework.version;
      verdict_.Add(kSolo,
                   absl::StrCat("it brings a newer ", assembly, " than ", name, " ",
                                version.ToString(), " has"),
                   absl::StrCat("update .NET here, or reference the package in a version of ",
                                version.major, ".", version.minor));
    }
  }

  void CheckOwn(const std::string& name) {
    const absl::StatusOr<UniqueFd> fd =
        OpenFile(absl::StrCat(folder_, "/", name), O_RDONLY | O_NONBLOCK | O_NOCTTY);
    // Named in deps.json, but trimmed or left out on purpose: .NET would say so when it is used.
    if (!fd.ok() && name != own_.front()) return;
    const absl::StatusOr<CliUses> uses = fd.ok() ? ReadOwn(fd->get()) : fd.status();
    if (!uses.ok()) {
      verdict_.Add(kRefused, absl::StrCat(name, ": ", uses.status().message()));
      return;
    }
    ApplySharingRules(name, *uses, verdict_);
  }

  absl::StatusOr<CliUses> ReadOwn(int fd) const {
    COHOST_ASSIGN_OR_RETURN(const AssemblyInfo info, ReadAssembly(fd));
    COHOST_RETURN_IF_ERROR(cohost::supervisor::CheckFramework(info, OwnVersion()));
    return ReadUses(fd, WantedUses());
  }

  FrameworkVersion OwnVersion() const {
    const auto own = verdict_.frameworks.find(kCoreFramework);
    const ReleaseVersion& core = own != verdict_.frameworks.end()
                                     ? own->second
                                     : runtime_.frameworks.at(kCoreFramework).version;
    return {static_cast<uint16_t>(core.major), static_cast<uint16_t>(core.minor), std::nullopt};
  }

  const std::string& app_;
  const std::string folder_;
  const std::string stem_;
  const DotnetRuntime& runtime_;
  // The main assembly first.
  std::vector<std::string> own_;
  Verdict verdict_;
};

}  // namespace

Verdict CheckApplication(const std::string& app, const DotnetRuntime& runtime) {
  return Check(app, runtime).Run();
}

}  // namespace cohost::supervisor
