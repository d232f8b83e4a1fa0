// SPDX-License-Identifier: Apache-2.0
#include "supervisor/admin/export_messages.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "supervisor/admin/message_values.h"

namespace cohost::supervisor {
namespace {

// A part is closed when it has so much. One entry more is at most 64 KiB of signatures or two
// paths, so that no part comes near the 16 MiB of a message.
constexpr size_t kPartSize = size_t{1} << 20;

// Parts that are filled one after the other.
class Parts {
 public:
  // The part that takes `size` more bytes.
  admin::v1::DeploymentPart& For(size_t size) {
    if (parts_.empty() || used_ >= kPartSize) {
      parts_.emplace_back();
      used_ = 0;
    }
    used_ += size;
    return parts_.back();
  }
  std::vector<admin::v1::DeploymentPart> Take() { return std::move(parts_); }

 private:
  std::vector<admin::v1::DeploymentPart> parts_;
  size_t used_ = 0;
};

}  // namespace

std::vector<admin::v1::DeploymentPart> DeploymentParts(const DeploymentExport& exported) {
  Parts parts;
  admin::v1::DeploymentPart& first = parts.For(0);
  first.set_revision(exported.revision);
  first.set_port_offset(exported.port_offset);
  for (size_t at = 0; at < exported.text.size(); at += kPartSize) {
    const size_t size = std::min(kPartSize, exported.text.size() - at);
    parts.For(size).set_deployment(exported.text.substr(at, size));
  }
  for (const ExportedFile& file : exported.files) {
    admin::v1::ExportedFile message;
    message.set_hash(file.file.hash);
    message.set_kind(std::string(StoredKindName(file.file.kind)));
    message.set_size_bytes(file.file.size.count);
    message.set_path(Text(file.file.path));
    message.set_signatures(file.signatures);
    *parts.For(message.ByteSizeLong()).add_files() = std::move(message);
  }
  for (const FileUse& use : exported.uses) {
    admin::v1::FileUse message;
    message.set_service(Text(use.service));
    message.set_data_image(Text(use.data_image));
    message.set_hash(use.hash);
    message.set_source_path(Text(use.source));
    *parts.For(message.ByteSizeLong()).add_uses() = std::move(message);
  }
  return parts.Take();
}

}  // namespace cohost::supervisor
