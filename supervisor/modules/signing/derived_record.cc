// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/signing/derived_record.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/strings.h"
#include "base/system/file.h"
#include "supervisor/modules/signing/content_hash.h"

namespace cohost::supervisor {
namespace {

constexpr std::string_view kHeader = "cohost-derived 1";
constexpr size_t kMostText = 1024;
// Three texts, two hashes and what is around them.
constexpr Bytes kMaxRecord = KiB(4);

struct Field {
  std::string_view name;
  std::string DerivedRecord::*value;
  bool is_hash;
};
constexpr Field kFields[] = {
    {"source", &DerivedRecord::source_hash, true}, {"stored", &DerivedRecord::stored_hash, true},
    {"compiler", &DerivedRecord::compiler, false}, {"framework", &DerivedRecord::framework, false},
    {"flags", &DerivedRecord::flags, false},
};

bool Fits(const Field& field, std::string_view value) {
  if (field.is_hash) return IsContentHash(value);
  return value.size() <= kMostText && std::none_of(value.begin(), value.end(), [](char c) {
           return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
         });
}

absl::Status BadLine(int line, std::string_view expected) {
  return absl::DataLossError(
      absl::StrCat("line ", line, " of the record is not '", AsAbsl(expected), "'"));
}

// The next line without its end; false when there is none that ends.
bool TakeLine(std::string_view& rest, std::string_view& line) {
  const size_t end = rest.find('\n');
  if (end == std::string_view::npos) return false;
  line = rest.substr(0, end);
  rest.remove_prefix(end + 1);
  return true;
}

}  // namespace

absl::StatusOr<std::string> FormatDerivedRecord(const DerivedRecord& record) {
  std::string text = absl::StrCat(AsAbsl(kHeader), "\n");
  for (const Field& field : kFields) {
    const std::string& value = record.*field.value;
    if (!Fits(field, value)) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", AsAbsl(field.name), "' of a derived file is not ",
                       field.is_hash ? "a SHA-256" : "one line of at most 1024 bytes"));
    }
    absl::StrAppend(&text, AsAbsl(field.name), " ", value, "\n");
  }
  return text;
}

absl::StatusOr<DerivedRecord> ParseDerivedRecord(std::string_view text) {
  std::string_view line;
  if (!TakeLine(text, line) || line != kHeader) return BadLine(1, kHeader);
  DerivedRecord record;
  int number = 1;
  for (const Field& field : kFields) {
    ++number;
    const std::string start = absl::StrCat(AsAbsl(field.name), " ");
    if (!TakeLine(text, line) || !line.starts_with(start)) {
      return BadLine(number, absl::StrCat(start, field.is_hash ? "SHA-256" : "TEXT"));
    }
    line.remove_prefix(start.size());
    if (!Fits(field, line)) {
      return BadLine(number, absl::StrCat(start, field.is_hash ? "SHA-256" : "TEXT"));
    }
    record.*field.value = std::string(line);
  }
  if (!text.empty()) return BadLine(number + 1, "the end");
  return record;
}

std::string DerivedRecords::PathOf(const std::string& stored_hash) const {
  return absl::StrCat(folder_, "/", stored_hash);
}

absl::Status DerivedRecords::Keep(const DerivedRecord& record) const {
  COHOST_ASSIGN_OR_RETURN(const std::string text, FormatDerivedRecord(record));
  COHOST_RETURN_IF_ERROR(MakeFolders(folder_, 0755));
  return WriteFileAtomically(PathOf(record.stored_hash), text, 0444);
}

absl::StatusOr<DerivedRecord> DerivedRecords::Find(const std::string& stored_hash) const {
  if (!IsContentHash(stored_hash)) return absl::NotFoundError("no stored file has such a hash");
  const std::string path = PathOf(stored_hash);
  absl::StatusOr<std::string> text = ReadRegularFile(path, kMaxRecord);
  if (absl::IsNotFound(text.status())) return text.status();
  if (!text.ok()) return absl::DataLossError(text.status().message());
  absl::StatusOr<DerivedRecord> record = ParseDerivedRecord(*text);
  if (!record.ok()) return Annotate(record.status(), path);
  if (record->stored_hash != stored_hash) {
    return absl::DataLossError(absl::StrCat(path, ": the record is of ", record->stored_hash));
  }
  return record;
}

absl::StatusOr<DerivedRecord> DerivedRecords::Verify(const StoredFile& file) const {
  COHOST_ASSIGN_OR_RETURN(DerivedRecord record, Find(file.hash));
  COHOST_ASSIGN_OR_RETURN(const std::string hash, HashOfFile(file.path));
  if (hash != file.hash) {
    return absl::DataLossError(
        absl::StrCat("'", file.path, "' is damaged: its content has the SHA-256 ", hash));
  }
  return record;
}

absl::Status DerivedRecords::Forget(const std::string& stored_hash) const {
  const std::string path = PathOf(stored_hash);
  if (unlink(path.c_str()) == 0 || errno == ENOENT) return absl::OkStatus();
  return ErrnoStatus(errno, "unlink", path);
}

}  // namespace cohost::supervisor
