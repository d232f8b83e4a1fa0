// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "supervisor/modules/signing/signature_text.h"

namespace cohost::supervisor {

// Signatures of stored files, for when the file that they came with is gone or has changed
// (rollback, export): STORE/signatures/HASH.sig, in the format of signature_text.h, where HASH is
// the content hash that is signed. Replaced atomically. What is read from here is verified again,
// so that nothing rests on who may write the folder. Blocks on the disk. Thread-safe: it holds
// nothing but the path; of two Keep of one hash at once, one may be lost.
class SignatureStore {
 public:
  // Of a folder that exists (ModuleStore::folder()); its own is made by the first Keep.
  explicit SignatureStore(const std::string& store) : folder_(store + "/signatures") {}

  // Adds to what is kept for that hash; a signature by the same key is replaced, and beyond
  // kMostSignatures the oldest go. What is there and cannot be read is replaced.
  absl::Status Keep(const std::string& hash, const std::vector<Signature>& signatures) const;
  // None when nothing is kept; DATA_LOSS when it cannot be read.
  absl::StatusOr<std::vector<Signature>> Find(const std::string& hash) const;
  // When no stored file has that hash any more; one that is not there is fine.
  absl::Status Forget(const std::string& hash) const;

  std::string PathOf(const std::string& hash) const;

 private:
  std::string folder_;
};

}  // namespace cohost::supervisor
