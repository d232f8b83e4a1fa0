// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "supervisor/modules/store_folder.h"

// Which files the services of an archived deployment use: `files` of an archive (archive_head.h).
// Text, every line ended by '\n', fields as in field.h:
//
//   file <hash>.<so|img> <bytes> <in|out> <SHA-256 of its signatures, or ->
//   use <service> <hash> <source>                 its module
//   use <service> <hash> <source> <name>          a data image, by the name that it asks for
//
// All files come first, by hash, each once; `in`: the archive has it. Then the uses, by service,
// the module before the images, which are by name. Every file has a use and every use its file, of
// its kind. The source is where the file lay on the host, for people. Anything else makes the whole
// list unreadable.
namespace cohost::supervisor {

struct ArchivedFile {
  StoredName name;  // copy is 1
  uint64_t size = 0;
  bool included = false;
  std::string signatures_hash;  // empty: it has none
  friend bool operator==(const ArchivedFile&, const ArchivedFile&) = default;
};

struct ArchivedUse {
  std::string service;
  std::string hash;
  std::string source;
  std::string data_image;  // empty: the module
  friend bool operator==(const ArchivedUse&, const ArchivedUse&) = default;
};

struct FileList {
  std::vector<ArchivedFile> files;
  std::vector<ArchivedUse> uses;
  friend bool operator==(const FileList&, const FileList&) = default;

  // Null when there is no such file.
  const ArchivedFile* Find(std::string_view hash) const;
};

// Puts both lists in order.
std::string FormatFileList(FileList list);
// INVALID_ARGUMENT naming the line.
absl::StatusOr<FileList> ParseFileList(std::string_view text);

}  // namespace cohost::supervisor
