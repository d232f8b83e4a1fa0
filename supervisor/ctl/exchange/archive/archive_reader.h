// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "supervisor/ctl/exchange/archive/archive_head.h"
#include "supervisor/ctl/exchange/archive/file_list.h"

namespace cohost::supervisor {

// Takes the included files of an archive, one after the other. An error ends the reading.
class FileSink {
 public:
  virtual ~FileSink() = default;
  virtual absl::Status Begin(const ArchivedFile& file) = 0;
  virtual absl::Status Write(std::string_view bytes) = 0;
  // All of it came and has the hash that its name says.
  virtual absl::Status End() = 0;
};

// What stands in an archive, but for the files themselves.
struct ArchiveContents {
  ArchiveHead head;
  std::string deployment;
  FileList list;
  // By content hash. Texts that nobody has looked at: who uses them verifies them.
  std::map<std::string, std::string> signatures;
};

// Reads a whole archive (archive_head.h) from the beginning of the file and checks every hash. With
// a sink, it gets the included files; what it got is only good when all of this ended well.
// DATA_LOSS, saying where, for everything that is not an archive of ours, whole and unchanged;
// UNIMPLEMENTED for another format version. Texts are at most 128 MiB (the deployment), files as
// large as the module store takes them. Blocks on the disk.
absl::StatusOr<ArchiveContents> ReadArchive(int fd, FileSink* sink);

}  // namespace cohost::supervisor
