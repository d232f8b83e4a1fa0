// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "supervisor/modules/stored_file.h"

namespace cohost::supervisor {

// How a stored file was made by Cohost from another one, for instance a ReadyToRun image from an IL
// assembly. Nobody can have signed such a file; it is trusted as far as its source is.
//
// As text, every line ended by '\n':
//   cohost-derived 1
//   source <hash>
//   stored <hash>
//   compiler <text>
//   framework <text>
//   flags <text>
// Hashes are SHA-256 in 64 lower-case hexadecimal digits; a text is at most 1,024 bytes without
// control characters, and may be empty. Anything else, however little, makes the whole record
// unreadable: a torn or altered one gives no trust at all.
struct DerivedRecord {
  std::string source_hash;
  std::string stored_hash;
  std::string compiler;   // name and version: "crossgen2 8.0.1"
  std::string framework;  // it was compiled against: "Microsoft.NETCore.App 8.0.1"
  std::string flags;      // as given to the compiler
  friend bool operator==(const DerivedRecord&, const DerivedRecord&) = default;
};

// INVALID_ARGUMENT when a field cannot stand in a record.
absl::StatusOr<std::string> FormatDerivedRecord(const DerivedRecord& record);
// DATA_LOSS, naming the line, when the text is no record.
absl::StatusOr<DerivedRecord> ParseDerivedRecord(std::string_view text);

// The records of a store: STORE/derived/STORED_HASH, one file a record, replaced atomically. Only
// the supervisor's user may write there, which is what the trust stands on. Blocks on the disk.
// Thread-safe: it holds nothing but the path.
class DerivedRecords {
 public:
  // Of a folder that exists (ModuleStore::folder()); its own is made by the first Keep.
  explicit DerivedRecords(const std::string& store) : folder_(store + "/derived") {}

  // Before the stored file is used. The record of a stored file that has one already is replaced.
  absl::Status Keep(const DerivedRecord& record) const;
  // NOT_FOUND when there is none, DATA_LOSS when it cannot be read or is another file's.
  absl::StatusOr<DerivedRecord> Find(const std::string& stored_hash) const;
  // The same, after reading the stored file: DATA_LOSS when its content is not what its hash says.
  absl::StatusOr<DerivedRecord> Verify(const StoredFile& file) const;
  // When the stored file was removed; one that is not there is fine.
  absl::Status Forget(const std::string& stored_hash) const;

  std::string PathOf(const std::string& stored_hash) const;

 private:
  std::string folder_;
};

}  // namespace cohost::supervisor
