// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/signing/signature_store.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/system/file.h"
#include "supervisor/modules/signing/content_hash.h"

namespace cohost::supervisor {

std::string SignatureStore::PathOf(const std::string& hash) const {
  return absl::StrCat(folder_, "/", hash, ".sig");
}

absl::Status SignatureStore::Keep(const std::string& hash,
                                  const std::vector<Signature>& signatures) const {
  if (!IsContentHash(hash)) {
    return absl::InvalidArgumentError(absl::StrCat("'", hash, "' is no content hash"));
  }
  if (signatures.empty()) return absl::OkStatus();
  const absl::StatusOr<std::vector<Signature>> kept = Find(hash);
  std::vector<Signature> all;
  if (kept.ok()) all = *kept;
  for (const Signature& signature : signatures) PutSignature(signature, all);
  if (all.size() > kMostSignatures) all.erase(all.begin(), all.end() - kMostSignatures);
  if (kept.ok() && all == *kept) return absl::OkStatus();
  COHOST_RETURN_IF_ERROR(MakeFolders(folder_, 0755));
  return WriteFileAtomically(PathOf(hash), FormatSignatures(all), 0444);
}

absl::StatusOr<std::vector<Signature>> SignatureStore::Find(const std::string& hash) const {
  if (!IsContentHash(hash)) return std::vector<Signature>();
  const std::string path = PathOf(hash);
  const absl::StatusOr<std::string> text = ReadRegularFile(path, kMaxSignatureText);
  if (absl::IsNotFound(text.status())) return std::vector<Signature>();
  if (!text.ok()) return absl::DataLossError(text.status().message());
  absl::StatusOr<std::vector<Signature>> signatures = ParseSignatures(*text);
  if (!signatures.ok()) {
    return absl::DataLossError(absl::StrCat("'", path, "': ", signatures.status().message()));
  }
  return signatures;
}

absl::Status SignatureStore::Forget(const std::string& hash) const {
  const std::string path = PathOf(hash);
  if (unlink(path.c_str()) == 0 || errno == ENOENT) return absl::OkStatus();
  return ErrnoStatus(errno, "unlink", path);
}

}  // namespace cohost::supervisor
