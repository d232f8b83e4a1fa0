// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>

#include "absl/status/statusor.h"
#include "supervisor/modules/stored_file.h"
#include "supervisor/modules/tree/tree_manifest.h"

namespace cohost::supervisor {

// How a file of an application is kept.
struct FileRole {
  StoredKind kind = StoredKind::kFile;
  Placing placing = Placing::kCopy;
  mode_t mode = 0444;
  friend bool operator==(const FileRole&, const FileRole&) = default;
};

// By its name, its permissions and its first bytes, read with pread(2):
//   .NET assemblies (PE with a CLI header, named .dll or .exe)   kAssembly, linked; but kFile below
//                                                               runtimes/RID/ of another system,
//                                                               whose code is not for this machine
//   other PE, ELF, and executable files that begin with "#!"     kFile or kProgram, linked
//   below wwwroot/, and .pdb                                     kFile or kProgram, linked
//   everything else (configuration, most of it)                  kFile or kProgram, copied
// kProgram: anybody may execute the source. Fails only when the file cannot be read.
absl::StatusOr<FileRole> RoleOf(int fd, const std::string& path, mode_t mode);

}  // namespace cohost::supervisor
