// SPDX-License-Identifier: Apache-2.0
#include "supervisor/deployer/application_compiler.h"

#include <cstdlib>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/strings.h"
#include "supervisor/dotnet/framework_versions.h"
#include "supervisor/dotnet/runtime_config.h"

namespace cohost::supervisor {
namespace {

constexpr std::string_view kDll = ".dll";

// Of the supervisor's own environment what programs need to find their files and package sources.
std::vector<std::string> Environment() {
  std::vector<std::string> environment = {
      "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8"};
  for (const char* name : {"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy",
                           "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR"}) {
    if (const char* value = std::getenv(name)) {
      environment.push_back(absl::StrCat(name, "=", value));
    }
  }
  return environment;
}

// Where NuGet keeps the packages of who started the host; empty: nowhere.
std::string NugetPackages() {
  if (const char* folder = std::getenv("NUGET_PACKAGES")) return folder;
  const char* home = std::getenv("HOME");
  return home == nullptr ? "" : absl::StrCat(home, "/.nuget/packages");
}

// What .NET's host gives the application; empty when its files do not say.
FrameworkVersions FrameworksOf(const ModuleStore& store, const TreeManifest& manifest,
                               const std::string& app, const DotnetInstallation& dotnet) {
  if (!app.ends_with(kDll)) return {};
  const TreeEntry* entry =
      manifest.Find(absl::StrCat(app.substr(0, app.size() - kDll.size()), ".runtimeconfig.json"));
  if (entry == nullptr || entry->type != TreeEntry::Type::kFile) return {};
  const auto file = store.Find(entry->stored_hash, entry->kind);
  if (!file.ok()) return {};
  const auto config = RuntimeConfig::Read(file->path);
  return config.ok() ? ResolveFrameworks(*config, dotnet) : FrameworkVersions();
}

std::string Summary(const Precompiled& compiled) {
  const uint32_t ready = compiled.published + compiled.compiled + compiled.cached;
  return absl::StrCat(ready, " of ", ready + compiled.failed + compiled.left,
                      " assemblies have machine code: ", compiled.published, " came with it, ",
                      compiled.compiled, " were compiled now and ", compiled.cached, " before");
}

}  // namespace

void ApplicationCompiler::Configure(Settings settings) {
  told_.clear();
  deadline_ = SystemClock().Steady() + kLimit;
  if (finder_ != nullptr && settings == settings_) return;
  settings_ = std::move(settings);
  const std::string folder = settings_.state_dir + "/precompile";
  CrossgenOptions options{.configured = settings_.crossgen,
                          .folder = folder,
                          .environment = Environment(),
                          .identity = settings_.identity};
  known_ = std::make_unique<CrossgenFinder>(runner_, options);
  options.nuget_packages = NugetPackages();
  options.dotnet = settings_.dotnet_root + "/dotnet";
  options.may_restore = settings_.precompilation == Precompilation::kRestore;
  finder_ = std::make_unique<CrossgenFinder>(runner_, std::move(options));
  precompiler_ = std::make_unique<Precompiler>(
      store_, runner_,
      PrecompilerOptions{
          .folder = folder, .environment = Environment(), .identity = settings_.identity});
}

absl::StatusOr<Crossgen> ApplicationCompiler::FindCompiler(const std::string& version,
                                                           PrecompileMode mode) {
  return (mode == PrecompileMode::kKnownOnly ? known_ : finder_)->Find(version);
}

absl::StatusOr<CompiledApplication> ApplicationCompiler::Compile(const TreeManifest& manifest,
                                                                 const std::string& app,
                                                                 const DotnetInstallation& dotnet,
                                                                 PrecompileMode mode) {
  CompiledApplication out{manifest, {}};
  if (precompiler_ == nullptr || settings_.precompilation == Precompilation::kOff) return out;
  const FrameworkVersions versions = FrameworksOf(store_, manifest, app, dotnet);
  const auto core = versions.find(kCoreFramework);
  // What cannot run here is refused, with its reason, by who checks it.
  if (core == versions.end()) return out;
  // No compiler is looked for, still less restored, for nothing.
  COHOST_ASSIGN_OR_RETURN(const bool has_il, precompiler_->HasIl(manifest));
  if (!has_il) return out;
  const std::string version = core->second.ToString();
  const absl::StatusOr<Crossgen> crossgen = FindCompiler(version, mode);
  if (absl::IsCancelled(crossgen.status())) return crossgen.status();
  if (!crossgen.ok()) {
    if (mode == PrecompileMode::kCompile && told_.insert(version).second) {
      out.notices.push_back(std::string(crossgen.status().message()));
    }
    return out;
  }
  PrecompileTarget target{absl::StrCat(kCoreFramework, " ", version), {}, ""};
  target.folders.push_back(dotnet.FolderOf(kCoreFramework, core->second));
  for (const auto& [name, other] : versions) {
    if (name != kCoreFramework) target.folders.push_back(dotnet.FolderOf(name, other));
  }
  COHOST_ASSIGN_OR_RETURN(Precompiled compiled,
                          precompiler_->Precompile(manifest, *crossgen, target, mode, deadline_));
  out.manifest = std::move(compiled.manifest);
  if (compiled.left > 0) {
    out.notices.push_back(
        absl::StrCat(Summary(compiled), "; a reload or `cohostctl deploy` compiles the others"));
  } else if (compiled.compiled + compiled.failed > 0) {
    out.notices.push_back(Summary(compiled));
  }
  for (std::string& notice : compiled.notices) out.notices.push_back(std::move(notice));
  return out;
}

}  // namespace cohost::supervisor
