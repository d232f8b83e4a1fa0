// SPDX-License-Identifier: Apache-2.0
#include "supervisor/dotnet/application_libraries.h"

#include <fcntl.h>

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/strings.h"
#include "base/system/file.h"
#include "supervisor/dotnet/deps_file.h"
#include "supervisor/modules/tree/folder_walk.h"
#include "supervisor/modules/verify/assembly_file.h"

namespace cohost::supervisor {
namespace {

constexpr std::string_view kDll = ".dll";
constexpr std::string_view kResources = ".resources.dll";
constexpr std::string_view kRuntimes = "runtimes/";

#if defined(__x86_64__)
constexpr std::string_view kRuntimeName = "linux-x64";
#else
constexpr std::string_view kRuntimeName = "linux-arm64";
#endif

// They look for the file where one application is.
const CliUses& NativeLoads() {
  static const CliUses* const uses =
      new CliUses{.members = {"System.Runtime.InteropServices.NativeLibrary.Load",
                              "System.Runtime.InteropServices.NativeLibrary.TryLoad"},
                  .bases = {}};
  return *uses;
}

// One reading of one application.
class Reader {
 public:
  Reader(const std::string& app, const DotnetRuntime& runtime)
      : folder_(app.substr(0, app.rfind('/'))),
        main_(app.substr(app.rfind('/') + 1)),
        runtime_(runtime) {}

  absl::StatusOr<std::vector<Library>> Read() {
    COHOST_ASSIGN_OR_RETURN(const UniqueFd folder, OpenFile(folder_, O_RDONLY | O_DIRECTORY));
    COHOST_ASSIGN_OR_RETURN(const Walk walk, WalkFolder(folder.get()));
    for (const WalkedEntry& entry : walk.entries) {
      if (entry.type == WalkedEntry::Type::kFile) files_.insert(entry.path);
    }
    const std::string deps_path =
        absl::StrCat(folder_, "/", main_.substr(0, main_.size() - kDll.size()), ".deps.json");
    absl::StatusOr<DepsFile> deps = DepsFile::Read(deps_path);
    if (!deps.ok() && !absl::IsNotFound(deps.status())) return deps.status();
    const bool has_deps = deps.ok();
    std::vector<Library> libraries;
    for (const std::string& file : files_) {
      if (file.find('/') != std::string::npos || !file.ends_with(kDll) || file == main_) continue;
      // .NET loads nothing that deps.json does not name.
      if (has_deps && !deps->assemblies.contains(file)) continue;
      if (IsFramework(file)) continue;
      COHOST_ASSIGN_OR_RETURN(Library library, ReadOne(folder.get(), file));
      if (has_deps) library.package_version = deps->package_versions[file];
      libraries.push_back(std::move(library));
    }
    return libraries;
  }

 private:
  bool IsFramework(const std::string& file) const {
    return std::any_of(runtime_.frameworks.begin(), runtime_.frameworks.end(),
                       [&](const auto& each) { return each.second.assemblies.contains(file); });
  }

  absl::StatusOr<Library> ReadOne(int folder, const std::string& file) const {
    COHOST_ASSIGN_OR_RETURN(const UniqueFd fd,
                            OpenBelow(folder, file, O_RDONLY | O_NONBLOCK | O_NOCTTY));
    const auto named = [&](const absl::Status& status) { return Annotate(status, file); };
    const absl::StatusOr<AssemblyInfo> info = ReadAssembly(fd.get());
    if (!info.ok()) return named(info.status());
    const absl::StatusOr<CliStatics> statics = ReadStatics(fd.get());
    if (!statics.ok()) return named(statics.status());
    const absl::StatusOr<CliUses> uses = ReadUses(fd.get(), NativeLoads());
    if (!uses.ok()) return named(uses.status());

    Library library;
    library.name = file.substr(0, file.size() - kDll.size());
    for (const AssemblyName& reference : info->references) {
      if (!IsFramework(reference.name + std::string(kDll))) {
        library.references.push_back(absl::CHexEscape(reference.name));
      }
    }
    // Names go into messages.
    for (const std::string& member : statics->mutable_members) {
      library.alarms.push_back(absl::CHexEscape(member));
    }
    for (const std::string& use : uses->members) {
      library.alarms.push_back(absl::StrCat("it calls ", use));
    }
    for (const std::string& name : statics->native_libraries) AddNative(name, library);
    AddSatellites(library);
    library.obstacle = ObstacleOf(file, library.name, *info);
    return library;
  }

  // As the runtime looks for it: beside the application, then among the files for this system.
  void AddNative(const std::string& name, Library& library) const {
    if (name.find('/') != std::string::npos) return;
    for (const std::string& place :
         {std::string(), absl::StrCat(AsAbsl(kRuntimes), AsAbsl(kRuntimeName), "/native/"),
          absl::StrCat(AsAbsl(kRuntimes), "linux/native/"),
          absl::StrCat(AsAbsl(kRuntimes), "unix/native/")}) {
      for (const std::string& file : {absl::StrCat(name, ".so"), absl::StrCat("lib", name, ".so"),
                                      name, absl::StrCat("lib", name)}) {
        const std::string path = place + file;
        if (!files_.contains(path)) continue;
        library.native_libraries.push_back(path);
        return;
      }
    }
  }

  void AddSatellites(Library& library) const {
    const std::string ending = absl::StrCat("/", library.name, AsAbsl(kResources));
    for (const std::string& file : files_) {
      if (file.ends_with(ending) && file.find('/') == file.size() - ending.size()) {
        library.satellites.push_back(file);
      }
    }
  }

  std::string ObstacleOf(const std::string& file, const std::string& name,
                         const AssemblyInfo& info) const {
    if (!absl::EqualsIgnoreCase(info.name.name, name)) {
      return absl::StrCat("its assembly is named ", absl::CHexEscape(info.name.name));
    }
    for (const std::string& path : files_) {
      if (path.starts_with(kRuntimes) && path.ends_with("/" + file)) {
        return absl::StrCat("it has other code for some systems (", path, ")");
      }
    }
    return "";
  }

  const std::string folder_;
  const std::string main_;
  const DotnetRuntime& runtime_;
  std::set<std::string> files_;
};

}  // namespace

absl::StatusOr<std::vector<Library>> ReadLibraries(const std::string& app,
                                                   const DotnetRuntime& runtime) {
  return Reader(app, runtime).Read();
}

}  // namespace cohost::supervisor
