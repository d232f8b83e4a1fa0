// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "supervisor/ctl/exchange/archive/archive_head.h"
#include "supervisor/ctl/exchange/archive/file_list.h"

namespace cohost::supervisor {

// What goes into an archive.
struct ArchiveParts {
  ArchiveHead head;  // without the hashes
  std::string deployment;
  FileList list;
  // By content hash, of those that have signatures.
  std::map<std::string, std::string> signatures;
  // Where those are that are to be included, by content hash.
  std::map<std::string, std::string> paths;
};

// Writes an archive (archive_head.h). Included files are read and compared with their hashes:
// DATA_LOSS when one is something else. After an error what was written is not to be used. Blocks
// on the disk.
absl::Status WriteArchive(ArchiveParts parts, int fd);

// The name of an entry.
std::string SignaturesEntry(const std::string& hash);
std::string ModuleEntry(const ArchivedFile& file);

}  // namespace cohost::supervisor
