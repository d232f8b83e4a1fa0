// SPDX-License-Identifier: Apache-2.0
#include "supervisor/ctl/exchange/archive/archive_reader.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/sha256.h"
#include "base/status.h"
#include "base/strings.h"
#include "base/units.h"
#include "supervisor/ctl/exchange/archive/archive_writer.h"
#include "supervisor/ctl/exchange/archive/field.h"
#include "supervisor/ctl/exchange/archive/tar_reader.h"
#include "supervisor/modules/signing/signature_text.h"

namespace cohost::supervisor {
namespace {

constexpr Bytes kMaxHead = KiB(4);
// What the deployment loader takes of a text that was formatted.
constexpr Bytes kMaxDeployment = MiB(128);
// Ten thousand services with paths of the greatest length.
constexpr Bytes kMaxFileList = MiB(128);
// Of all files together; they stay in memory.
constexpr Bytes kMaxAllSignatures = MiB(128);

absl::Status DataLoss(std::string_view where, const absl::Status& status) {
  if (absl::IsUnimplemented(status)) return status;
  return absl::DataLossError(absl::StrCat(AsAbsl(where), ": ", status.message()));
}

// One reading, entry by entry.
class Reading {
 public:
  explicit Reading(TarReader& tar) : tar_(tar) {}

  // The content of the next entry, which must be this one.
  absl::StatusOr<std::string> Text(const std::string& name, Bytes limit, const std::string* hash) {
    COHOST_ASSIGN_OR_RETURN(const uint64_t size, Expect(name));
    if (size > limit.count) return TooLarge(name);
    std::string text;
    const absl::Status read = tar_.Read([&](std::string_view bytes) {
      text.append(bytes);
      return absl::OkStatus();
    });
    if (!read.ok()) return DataLoss(name, read);
    if (hash != nullptr && HashOf(text) != *hash) return Changed(name);
    return text;
  }

  absl::Status File(const ArchivedFile& file, FileSink* sink) {
    const std::string name = ModuleEntry(file);
    COHOST_ASSIGN_OR_RETURN(const uint64_t size, Expect(name));
    if (size != file.size) return Changed(name);
    if (sink != nullptr) COHOST_RETURN_IF_ERROR(sink->Begin(file));
    Sha256 hash;
    // What goes wrong in the sink is no fault of the archive.
    absl::Status sunk;
    const absl::Status read = tar_.Read([&](std::string_view bytes) {
      hash.Update(bytes);
      if (sink != nullptr) sunk = sink->Write(bytes);
      return sunk;
    });
    if (!sunk.ok()) return sunk;
    if (!read.ok()) return DataLoss(name, read);
    if (HexDigest(hash.Finish()) != file.name.hash) return Changed(name);
    return sink == nullptr ? absl::OkStatus() : sink->End();
  }

  absl::Status End() {
    const auto entry = tar_.Next();
    if (!entry.ok()) return DataLoss("after the last file", entry.status());
    if (*entry) return absl::DataLossError("it goes on after its last file");
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<uint64_t> Expect(const std::string& name) {
    const auto entry = tar_.Next();
    if (!entry.ok()) return DataLoss(name, entry.status());
    if (!*entry) return absl::DataLossError(absl::StrCat(name, ": it ends before it"));
    // Not quoted: the name may hold anything.
    if ((*entry)->name != name) return absl::DataLossError(absl::StrCat(name, ": it is not there"));
    return (*entry)->size;
  }
  static absl::Status TooLarge(const std::string& name) {
    return absl::DataLossError(absl::StrCat(name, ": it is too large"));
  }
  static absl::Status Changed(const std::string& name) {
    return absl::DataLossError(absl::StrCat(name, ": it was changed or damaged"));
  }

  TarReader& tar_;
};

}  // namespace

absl::StatusOr<ArchiveContents> ReadArchive(int fd, FileSink* sink) {
  COHOST_ASSIGN_OR_RETURN(TarReader tar, TarReader::Open(fd));
  Reading reading(tar);
  ArchiveContents contents;
  const std::string head_name(kHeadEntry);
  COHOST_ASSIGN_OR_RETURN(const std::string head, reading.Text(head_name, kMaxHead, nullptr));
  auto parsed_head = ParseArchiveHead(head);
  if (!parsed_head.ok()) return DataLoss(kHeadEntry, parsed_head.status());
  contents.head = *std::move(parsed_head);
  COHOST_ASSIGN_OR_RETURN(
      contents.deployment,
      reading.Text(std::string(kDeploymentEntry), kMaxDeployment, &contents.head.deployment_hash));
  COHOST_ASSIGN_OR_RETURN(
      const std::string files,
      reading.Text(std::string(kFilesEntry), kMaxFileList, &contents.head.files_hash));
  auto list = ParseFileList(files);
  if (!list.ok()) return DataLoss(kFilesEntry, list.status());
  contents.list = *std::move(list);
  uint64_t left = kMaxAllSignatures.count;
  for (const ArchivedFile& file : contents.list.files) {
    if (file.signatures_hash.empty()) continue;
    COHOST_ASSIGN_OR_RETURN(const std::string text,
                            reading.Text(SignaturesEntry(file.name.hash),
                                         Bytes{std::min<uint64_t>(left, kMaxSignatureText.count)},
                                         &file.signatures_hash));
    left -= text.size();
    contents.signatures[file.name.hash] = text;
  }
  for (const ArchivedFile& file : contents.list.files) {
    if (file.included) COHOST_RETURN_IF_ERROR(reading.File(file, sink));
  }
  COHOST_RETURN_IF_ERROR(reading.End());
  return contents;
}

}  // namespace cohost::supervisor
