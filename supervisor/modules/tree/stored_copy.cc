// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/tree/stored_copy.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>

#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "base/sha256.h"
#include "base/status.h"
#include "base/system/file.h"
#include "base/system/unique_fd.h"

namespace cohost::supervisor {

absl::Status CopyStored(const StoredFile& stored, int to) {
  COHOST_ASSIGN_OR_RETURN(const UniqueFd from,
                          OpenFile(stored.path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  if (::ioctl(to, FICLONE, from.get()) == 0) return absl::OkStatus();
  Sha256 sha256;
  std::string part(64 * 1024, '\0');
  for (uint64_t offset = 0;;) {
    COHOST_ASSIGN_OR_RETURN(const size_t n, ReadAt(from.get(), offset, part.data(), part.size()));
    if (n == 0) break;
    offset += n;
    const std::string_view bytes = std::string_view(part).substr(0, n);
    sha256.Update(bytes);
    COHOST_RETURN_IF_ERROR(WriteAll(to, bytes));
  }
  if (HexDigest(sha256.Finish()) == stored.hash) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("'", stored.path, "' is damaged: deploy its source again"));
}

}  // namespace cohost::supervisor
