// SPDX-License-Identifier: Apache-2.0
#include "supervisor/deployer/service_preparer.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/strings.h"
#include "supervisor/config/settings_secrets.h"
#include "supervisor/deployer/service_verdict.h"
#include "supervisor/dotnet/framework_view.h"
#include "supervisor/modules/publication.h"

namespace cohost::supervisor {

PreparedService ServicePreparer::Prepare(const Service& service, FileOrigin origin,
                                         const ServiceFiles& files,
                                         const ServicePlace& place) const {
  PreparedService out;
  out.service = service;
  if (service.runtime == Runtime::kDotnet) {
    PrepareDotnet(origin, files, place, out);
  } else {
    PrepareNative(origin, files, out);
  }
  if (auto settings = ResolveSecrets(service.settings); settings.ok()) {
    out.settings = *std::move(settings);
  } else {
    Fail(out, "settings", settings.status());
  }
  out.revision = ServiceRevision(out);
  return out;
}

void ServicePreparer::PrepareNative(FileOrigin origin, const ServiceFiles& files,
                                    PreparedService& out) const {
  const Service& service = out.service;
  if (auto module = Module(service, origin, files); module.ok()) {
    out.module = *std::move(module);
    for (const std::string& warning : out.module.warnings) {
      parts_.remarks.push_back(absl::StrCat(service.module, ": ", warning));
    }
  } else {
    Fail(out, "module", module.status());
  }
  for (const auto& [name, path] : service.data_images) {
    if (auto image = Image(name, path, origin, files); image.ok()) {
      out.data_images.emplace(name, *std::move(image));
    } else {
      Fail(out, absl::StrCat("data_images.", name), image.status());
    }
  }
}

void ServicePreparer::PrepareDotnet(FileOrigin origin, const ServiceFiles& files,
                                    const ServicePlace& place, PreparedService& out) const {
  if (auto tree = Tree(out.service, origin, files, place.owner); tree.ok()) {
    out.module = std::move(tree->app);
    out.tree = std::move(tree->manifest);
    for (const std::string& notice : tree->notices) Remark(out, notice);
    CheckDotnet(out, origin == FileOrigin::kStoreAsItRuns);
    ShareLibraries(place.dotnet, origin, out);
  } else {
    Fail(out, "app", tree.status());
  }
  if (auto environment = ResolveSecrets(out.service.dotnet.environment); environment.ok()) {
    out.environment = *std::move(environment);
  } else {
    Fail(out, "environment", environment.status());
  }
}

void ServicePreparer::CheckDotnet(PreparedService& service, bool runs) const {
  service.hosting.isolation = service.service.dotnet.isolation.value_or(Isolation::kShared);
  // Said once for all services.
  if (!parts_.dotnet->ok()) return;
  const DotnetRuntime& dotnet = **parts_.dotnet;
  ServiceVerdict verdict = JudgeService(service.service, service.module.path, dotnet);
  service.hosting = std::move(verdict.hosting);
  if (runs) verdict.problems.clear();
  if (runs) verdict.remarks.clear();
  if (verdict.problems.empty() && service.hosting.isolation == Isolation::kShared &&
      service.hosting.frameworks != dotnet.Usual()) {
    auto view = MakeFrameworkView(dotnet.installation, service.hosting.frameworks,
                                  absl::StrCat(parts_.state_dir, "/dotnet"));
    if (view.ok()) {
      service.hosting.root = *std::move(view);
    } else {
      Fail(service, "app", view.status());
    }
  }
  for (ConfigProblem& problem : verdict.problems) parts_.problems.push_back(std::move(problem));
  for (std::string& remark : verdict.remarks) parts_.remarks.push_back(std::move(remark));
}

void ServicePreparer::ShareLibraries(const DotnetPolicy& policy, FileOrigin origin,
                                     PreparedService& out) const {
  if (!parts_.dotnet->ok()) return;
  absl::StatusOr<SharedLibraries::Set> set = parts_.libraries.LayOut(out, policy, **parts_.dotnet);
  if (!set.ok()) return Fail(out, "app", set.status());
  out.shared_libraries = std::move(set->paths);
  if (origin == FileOrigin::kStoreAsItRuns) return;
  for (const std::string& notice : set->notices) Remark(out, notice);
}

void ServicePreparer::Remark(const PreparedService& service, const std::string& text) const {
  parts_.remarks.push_back(absl::StrCat("service '", service.service.name, "': ", text));
}

absl::StatusOr<StoredFile> ServicePreparer::Module(const Service& service, FileOrigin origin,
                                                   const ServiceFiles& files) const {
  if (origin == FileOrigin::kSources) {
    return parts_.batch.Add(service.module, StoredKind::kModule);
  }
  return Stored(files.module, StoredKind::kModule, origin);
}

absl::StatusOr<StoredFile> ServicePreparer::Image(const std::string& name,
                                                  const std::string& source, FileOrigin origin,
                                                  const ServiceFiles& files) const {
  if (origin == FileOrigin::kSources) return parts_.batch.Add(source, StoredKind::kDataImage);
  const auto hash = files.data_images.find(name);
  if (hash == files.data_images.end()) {
    return absl::NotFoundError(absl::StrCat("no file is kept for '", name, "'"));
  }
  return Stored(hash->second, StoredKind::kDataImage, origin);
}

absl::StatusOr<ApplicationTree> ServicePreparer::Tree(const Service& service, FileOrigin origin,
                                                      const ServiceFiles& files,
                                                      const DataOwner& owner) const {
  switch (origin) {
    case FileOrigin::kSources:
      return parts_.trees.Publish(
          service, owner,
          [this](const TreeManifest& manifest, const std::string& app,
                 std::vector<std::string>& notices) { return Compile(manifest, app, notices); });
    case FileOrigin::kStore:
      return parts_.trees.Restore(service, files.module, owner);
    case FileOrigin::kStoreAsItRuns:
      return parts_.trees.Resume(service, files.module, owner);
  }
  return absl::InternalError("no origin");
}

absl::StatusOr<TreeManifest> ServicePreparer::Compile(const TreeManifest& manifest,
                                                      const std::string& app,
                                                      std::vector<std::string>& notices) const {
  if (parts_.compiling.compiler == nullptr || !parts_.dotnet->ok()) return manifest;
  COHOST_ASSIGN_OR_RETURN(
      CompiledApplication compiled,
      parts_.compiling.compiler->Compile(manifest, app, (*parts_.dotnet)->installation,
                                         parts_.compiling.mode));
  for (std::string& notice : compiled.notices) notices.push_back(std::move(notice));
  return std::move(compiled.manifest);
}

absl::StatusOr<StoredFile> ServicePreparer::Stored(const std::string& hash, StoredKind kind,
                                                   FileOrigin origin) const {
  COHOST_ASSIGN_OR_RETURN(StoredFile file, parts_.store.Find(hash, kind));
  if (origin == FileOrigin::kStoreAsItRuns) return file;
  const absl::StatusOr<Bytes> size = CheckStoredFile(file.path, {hash, kind});
  if (size.ok()) return file;
  return Annotate(size.status(), absl::StrCat("'", file.path, "'"));
}

void ServicePreparer::Fail(const PreparedService& service, std::string_view key,
                           const absl::Status& status) const {
  parts_.problems.push_back({"", 0, 0,
                             absl::StrCat("services.", service.service.name, ".", AsAbsl(key)),
                             std::string(status.message())});
}

}  // namespace cohost::supervisor
