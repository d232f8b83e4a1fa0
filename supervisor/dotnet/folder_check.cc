// SPDX-License-Identifier: Apache-2.0
#include "supervisor/dotnet/folder_check.h"

#include <fcntl.h>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/system/file.h"
#include "supervisor/modules/tree/file_role.h"
#include "supervisor/modules/tree/folder_walk.h"
#include "supervisor/modules/tree/relative_path.h"
#include "supervisor/modules/verify/verify_stored_file.h"

namespace cohost::supervisor {
namespace {

absl::Status CheckFile(int folder, const WalkedEntry& entry) {
  const absl::StatusOr<UniqueFd> fd =
      OpenBelow(folder, entry.path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (!fd.ok()) return fd.status();
  const absl::StatusOr<FileRole> role = RoleOf(fd->get(), entry.path, entry.mode);
  if (!role.ok()) return role.status();
  if (role->kind != StoredKind::kAssembly) return absl::OkStatus();
  return VerifyStoredFile(fd->get(), role->kind).status();
}

}  // namespace

void CheckFolder(const std::string& folder, Verdict& verdict) {
  const auto refuse = [&](const std::string& what, const absl::Status& status) {
    verdict.Add(Finding::Weight::kRefused, absl::StrCat(what, ": ", status.message()));
  };
  const absl::StatusOr<UniqueFd> fd = OpenFile(folder, O_RDONLY | O_DIRECTORY);
  if (!fd.ok()) return refuse("its folder", fd.status());
  const absl::StatusOr<Walk> walk = WalkFolder(fd->get());
  if (!walk.ok()) return refuse("its folder", walk.status());
  if (!walk->left_out.empty()) {
    verdict.Add(Finding::Weight::kRefused, "its folder holds more than an application has",
                "name the folder that `dotnet publish` made");
  }
  for (const WalkedEntry& entry : walk->entries) {
    if (entry.type != WalkedEntry::Type::kFile) continue;
    const absl::Status status = CheckFile(fd->get(), entry);
    if (!status.ok()) refuse(EscapeWord(entry.path), status);
  }
}

}  // namespace cohost::supervisor
