// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/verify/verify_stored_file.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/format/data_image_builder.h"
#include "base/status.h"
#include "supervisor/modules/verify/elf_file.h"

namespace cohost::supervisor {

absl::StatusOr<FileReport> VerifyStoredFile(int fd, StoredKind kind) {
  FileReport report;
  switch (kind) {
    case StoredKind::kModule: {
      COHOST_ASSIGN_OR_RETURN(ElfReport elf, CheckSharedObject(fd));
      report.warnings = std::move(elf.warnings);
      report.relocation_cost = elf.relocation_cost;
      return report;
    }
    case StoredKind::kDataImage: {
      const absl::Status status = VerifyDataImage(fd);
      if (absl::IsDataLoss(status)) {
        return absl::InvalidArgumentError(
            absl::StrCat(status.message(), "; copy the image or build it again"));
      }
      COHOST_RETURN_IF_ERROR(status);
      return report;
    }
    case StoredKind::kAssembly: {
      COHOST_ASSIGN_OR_RETURN(report.assembly, ReadAssembly(fd));
      return report;
    }
    case StoredKind::kFile:
    case StoredKind::kProgram:
      return report;
  }
  return absl::InvalidArgumentError("a file of a kind that the store does not know");
}

}  // namespace cohost::supervisor
