// SPDX-License-Identifier: Apache-2.0
#include "supervisor/ctl/exchange/host_deployment.h"

#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "supervisor/config/address_text.h"
#include "supervisor/config/deployment_loader.h"
#include "supervisor/config/deployment_writer.h"
#include "supervisor/ctl/admin_client.h"

namespace cohost::supervisor {

grpc::Status FetchDeployment(admin::v1::Admin::Stub& stub, absl::Duration timeout,
                             admin::v1::DeploymentPart* whole) {
  const auto context = ContextFor(timeout);
  const auto reader = stub.ExportDeployment(context.get(), admin::v1::ExportDeploymentRequest());
  std::string text;
  admin::v1::DeploymentPart part;
  while (reader->Read(&part)) {
    text += part.deployment();
    part.clear_deployment();
    whole->MergeFrom(part);
  }
  whole->set_deployment(std::move(text));
  return reader->Finish();
}

absl::StatusOr<FileList> FileListOf(const admin::v1::DeploymentPart& whole) {
  FileList list;
  for (const admin::v1::ExportedFile& file : whole.files()) {
    const bool is_image = file.kind() == StoredKindName(StoredKind::kDataImage);
    if (!is_image && file.kind() != StoredKindName(StoredKind::kModule)) {
      return absl::InternalError(absl::StrCat(
          "the host uses files of the kind '", file.kind(),
          "', which this cohostctl does not know: take the one that belongs to the host"));
    }
    ArchivedFile archived;
    archived.name = {file.hash(), is_image ? StoredKind::kDataImage : StoredKind::kModule};
    archived.size = file.size_bytes();
    list.files.push_back(std::move(archived));
  }
  for (const admin::v1::FileUse& use : whole.uses()) {
    list.uses.push_back({use.service(), use.hash(), use.source_path(), use.data_image()});
  }
  return list;
}

absl::StatusOr<std::string> TextWithoutOffset(const admin::v1::DeploymentPart& whole) {
  if (whole.port_offset() == 0) return whole.deployment();
  LoadOptions options;
  options.formatted = true;
  LoadResult loaded = ParseDeployment(whole.deployment(), "the deployment in force", options);
  if (!loaded.deployment) {
    return absl::InternalError(absl::StrCat(Render(loaded.errors.front()),
                                            "; cohostctl and host are of different versions"));
  }
  const auto take_back = [&](Address& address) {
    // Free ports have none.
    if (address.kind != Address::Kind::kTcp || address.port < whole.port_offset()) return;
    SetPort(address, static_cast<uint16_t>(address.port - whole.port_offset()));
  };
  if (loaded.deployment->host.metrics) take_back(*loaded.deployment->host.metrics);
  for (Service& service : loaded.deployment->services) {
    for (Address& address : service.listen) take_back(address);
  }
  return FormatDeployment(*loaded.deployment);
}

FileHashes HashesOf(const FileList& list) {
  FileHashes hashes;
  for (const ArchivedUse& use : list.uses) hashes[{use.service, use.data_image}] = use.hash;
  return hashes;
}

}  // namespace cohost::supervisor
