// SPDX-License-Identifier: Apache-2.0
#include "supervisor/deployer/deployment_export.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "supervisor/modules/signing/signature_store.h"

namespace cohost::supervisor {
namespace {

// Of the keys of UsedFile.
constexpr std::string_view kImages = "data_images.";

}  // namespace

absl::Status CheckExportable(const PreparedDeployment& prepared) {
  for (const auto& [name, service] : prepared.services) {
    if (service.service.runtime != Runtime::kDotnet) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "service '", name,
        "' is an application of the runtime dotnet, which an export does not hold in this version: "
        "copy the deployment file and the applications' folders"));
  }
  return absl::OkStatus();
}

DeploymentExport DescribeDeployment(const PreparedDeployment& prepared, const std::string& text) {
  DeploymentExport exported;
  exported.text = text;
  std::map<std::string, StoredFile> files;
  for (const auto& [name, service] : prepared.services) {
    for (const UsedFile& file : FilesOf(service)) {
      const bool is_image = file.key.starts_with(kImages);
      files.emplace(file.stored.hash, file.stored);
      exported.uses.push_back(
          {name, is_image ? file.key.substr(kImages.size()) : "", file.stored.hash, file.source});
    }
  }
  for (auto& [hash, file] : files) {
    file.warnings.clear();
    exported.files.push_back({std::move(file), ""});
  }
  return exported;
}

absl::Status AddSignatures(const std::string& folder, DeploymentExport& exported) {
  const SignatureStore kept(folder);
  for (ExportedFile& file : exported.files) {
    COHOST_ASSIGN_OR_RETURN(const std::vector<Signature> signatures, kept.Find(file.file.hash));
    if (!signatures.empty()) file.signatures = FormatSignatures(signatures);
  }
  return absl::OkStatus();
}

}  // namespace cohost::supervisor
