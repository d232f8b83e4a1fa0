// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "supervisor/modules/stored_file.h"
#include "supervisor/modules/verify/assembly_file.h"
#include "supervisor/modules/verify/relocation_cost.h"

namespace cohost::supervisor {

// What a check found out beside "it may be stored".
struct FileReport {
  // What may hurt later though it is allowed, with its remedy, one line each.
  std::vector<std::string> warnings;
  std::optional<RelocationCost> relocation_cost;  // of modules
  std::optional<AssemblyInfo> assembly;           // of assemblies
};

// Checks that the open file is what its kind says, so that nothing that maps it later can die of
// it: modules (elf_file.h), data images (base/format/data_image_builder.h), assemblies
// (assembly_file.h); files and programs may be anything. Only pread(2) is called, never mmap; the
// caller makes sure that nobody changes the file meanwhile. INVALID_ARGUMENT with reason and
// remedy, without the file's name; other codes are errors of the system.
absl::StatusOr<FileReport> VerifyStoredFile(int fd, StoredKind kind);

}  // namespace cohost::supervisor
