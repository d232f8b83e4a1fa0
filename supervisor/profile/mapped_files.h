// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/units.h"
#include "supervisor/profile/process_maps.h"

namespace cohost::supervisor {

struct MappedFile {
  FileIdentity identity;
  // Of an ELF file: whole pages that its loader maps without the file, for the zeroed rest of its
  // data (.bss); 0 of any other.
  Bytes bss;
};

// How the mappings of any process name these files. On overlayfs and btrfs that is not what stat(2)
// says, so each file is mapped into this process for a moment (one page, never touched) and looked
// up in its own /proc/self/maps. Unset for a file that is not there any more or cannot be opened;
// an error only when /proc cannot be read. Reads headers from the disk. Any thread.
absl::StatusOr<std::vector<std::optional<MappedFile>>> IdentifyMappedFiles(
    const std::vector<std::string>& paths);

}  // namespace cohost::supervisor
