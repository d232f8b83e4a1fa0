// SPDX-License-Identifier: Apache-2.0
#include "supervisor/ctl/exchange/archive/archive_writer.h"

#include <fcntl.h>

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/sha256.h"
#include "base/status.h"
#include "base/strings.h"
#include "base/system/file.h"
#include "supervisor/ctl/exchange/archive/field.h"
#include "supervisor/ctl/exchange/archive/tar_writer.h"

namespace cohost::supervisor {
namespace {

constexpr size_t kBuffer = 256 * 1024;

absl::Status CopyFile(const ArchivedFile& file, const std::string& path, TarWriter& tar) {
  COHOST_ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(path, O_RDONLY | O_NONBLOCK | O_NOCTTY));
  COHOST_RETURN_IF_ERROR(tar.Begin(ModuleEntry(file), file.size));
  std::vector<char> buffer(kBuffer);
  Sha256 hash;
  uint64_t offset = 0;
  while (true) {
    COHOST_ASSIGN_OR_RETURN(const size_t got,
                            ReadAt(fd.get(), offset, buffer.data(), buffer.size()));
    if (got == 0) break;
    offset += got;
    hash.Update({buffer.data(), got});
    if (offset > file.size) break;
    COHOST_RETURN_IF_ERROR(tar.Write({buffer.data(), got}));
  }
  if (offset == file.size && HexDigest(hash.Finish()) == file.name.hash) return absl::OkStatus();
  return absl::DataLossError(
      "it is not what its name says; `cohostctl fsck` sets damaged files aside, `cohostctl reload` "
      "brings them anew");
}

}  // namespace

std::string SignaturesEntry(const std::string& hash) {
  return absl::StrCat("signatures/", hash, ".sig");
}

std::string ModuleEntry(const ArchivedFile& file) {
  return absl::StrCat("modules/", file.name.ToString());
}

absl::Status WriteArchive(ArchiveParts parts, int fd) {
  for (ArchivedFile& file : parts.list.files) {
    const auto signatures = parts.signatures.find(file.name.hash);
    file.signatures_hash = signatures == parts.signatures.end() ? "" : HashOf(signatures->second);
    file.included = parts.paths.contains(file.name.hash);
  }
  const std::string files = FormatFileList(parts.list);
  parts.head.deployment_hash = HashOf(parts.deployment);
  parts.head.files_hash = HashOf(files);
  // In the order of the text, which a reader expects.
  COHOST_ASSIGN_OR_RETURN(const FileList list, ParseFileList(files));
  TarWriter tar(fd, parts.head.time);
  COHOST_RETURN_IF_ERROR(tar.Add(kHeadEntry, FormatArchiveHead(parts.head)));
  COHOST_RETURN_IF_ERROR(tar.Add(kDeploymentEntry, parts.deployment));
  COHOST_RETURN_IF_ERROR(tar.Add(kFilesEntry, files));
  for (const ArchivedFile& file : list.files) {
    if (file.signatures_hash.empty()) continue;
    COHOST_RETURN_IF_ERROR(
        tar.Add(SignaturesEntry(file.name.hash), parts.signatures.at(file.name.hash)));
  }
  for (const ArchivedFile& file : list.files) {
    if (!file.included) continue;
    const std::string& path = parts.paths.at(file.name.hash);
    COHOST_RETURN_IF_ERROR(Annotate(CopyFile(file, path, tar), absl::StrCat("read '", path, "'")));
  }
  return tar.Finish();
}

}  // namespace cohost::supervisor
