// SPDX-License-Identifier: Apache-2.0
#include "supervisor/ctl/exchange/module_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/system/file.h"
#include "supervisor/modules/signing/content_hash.h"
#include "supervisor/modules/signing/signature_text.h"

namespace cohost::supervisor {
namespace {

constexpr size_t kBuffer = 256 * 1024;

}  // namespace

absl::StatusOr<std::unique_ptr<ModuleFolder>> ModuleFolder::Open(std::string path) {
  std::unique_ptr<ModuleFolder> folder(new ModuleFolder(std::move(path)));
  const bool missing = access(folder->path_.c_str(), F_OK) != 0;
  COHOST_RETURN_IF_ERROR(MakeFolders(folder->path_, 0755));
  folder->made_ = missing;
  return folder;
}

ModuleFolder::~ModuleFolder() { Undo(); }

void ModuleFolder::Keep() {
  laid_.clear();
  signatures_.clear();
  made_ = false;
}

// Ignoring failures: what is left is read-only files that nobody uses.
void ModuleFolder::Undo() {
  if (fd_.valid()) (void)unlink(temporary_.c_str());
  for (const std::string& path : laid_) (void)unlink(path.c_str());
  for (const Signatures& signatures : signatures_) {
    if (signatures.before) {
      (void)WriteFileAtomically(signatures.path, *signatures.before, 0444);
    } else {
      (void)unlink(signatures.path.c_str());
    }
  }
  // Stays when somebody has put something into it.
  if (made_) (void)rmdir(path_.c_str());
  Keep();
}

std::string ModuleFolder::PathOf(const ArchivedFile& file) const {
  return absl::StrCat(path_, "/", file.name.ToString());
}

absl::Status ModuleFolder::Begin(const ArchivedFile& file) {
  file_ = &file;
  const std::string path = PathOf(file);
  const absl::StatusOr<std::string> there = HashOfFile(path);
  if (there.ok() && *there == file.name.hash) return absl::OkStatus();
  if (!absl::IsNotFound(there.status())) {
    return absl::FailedPreconditionError(
        absl::StrCat("'", path, "' is not what its name says",
                     there.ok() ? "" : absl::StrCat(" (", there.status().message(), ")"),
                     "; remove it, or name another folder with --modules-to"));
  }
  temporary_ = absl::StrCat(path, ".XXXXXX");
  fd_ = UniqueFd(mkostemp(temporary_.data(), O_CLOEXEC));
  return fd_.valid() ? absl::OkStatus() : ErrnoStatus(errno, "create", temporary_);
}

absl::Status ModuleFolder::Write(std::string_view bytes) {
  if (!fd_.valid()) return absl::OkStatus();
  return Annotate(WriteAll(fd_.get(), bytes), temporary_);
}

absl::Status ModuleFolder::End() {
  if (!fd_.valid()) return absl::OkStatus();
  const std::string path = PathOf(*file_);
  if (fchmod(fd_.get(), ModeOf(file_->name.kind)) != 0) {
    return ErrnoStatus(errno, "fchmod", temporary_);
  }
  if (fsync(fd_.get()) != 0) return ErrnoStatus(errno, "fsync", temporary_);
  if (rename(temporary_.c_str(), path.c_str()) != 0) return ErrnoStatus(errno, "rename", path);
  fd_.Reset();
  laid_.push_back(path);
  return absl::OkStatus();
}

absl::Status ModuleFolder::Copy(const ArchivedFile& file, const std::string& from) {
  COHOST_ASSIGN_OR_RETURN(const UniqueFd source, OpenFile(from, O_RDONLY | O_NONBLOCK | O_NOCTTY));
  COHOST_RETURN_IF_ERROR(Begin(file));
  std::string buffer(kBuffer, '\0');
  Sha256 hash;
  uint64_t offset = 0;
  while (offset <= file.size) {
    COHOST_ASSIGN_OR_RETURN(const size_t got,
                            ReadAt(source.get(), offset, buffer.data(), buffer.size()));
    if (got == 0) break;
    offset += got;
    const std::string_view bytes(buffer.data(), got);
    hash.Update(bytes);
    COHOST_RETURN_IF_ERROR(Write(bytes));
  }
  if (HexDigest(hash.Finish()) == file.name.hash) return End();
  return absl::DataLossError(
      absl::StrCat("'", from, "' is not what its name says; `cohostctl fsck` sets it aside"));
}

absl::Status ModuleFolder::LaySignatures(const ArchivedFile& file, const std::string& text) {
  Signatures signatures{SignatureFileOf(PathOf(file)), std::nullopt};
  absl::StatusOr<std::string> before = ReadRegularFile(signatures.path, kMaxSignatureText);
  if (before.ok() && *before == text) return absl::OkStatus();
  if (before.ok()) {
    signatures.before = *std::move(before);
  } else if (!absl::IsNotFound(before.status())) {
    return before.status();
  }
  COHOST_RETURN_IF_ERROR(WriteFileAtomically(signatures.path, text, 0444));
  signatures_.push_back(std::move(signatures));
  return absl::OkStatus();
}

absl::Status ModuleFolder::Sync() const { return SyncFolder(path_); }

}  // namespace cohost::supervisor
