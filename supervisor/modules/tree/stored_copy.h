// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "absl/status/status.h"
#include "supervisor/modules/stored_file.h"

namespace cohost::supervisor {

// Fills an empty file with the content of a stored one: shares its blocks where the file system
// can, else copies, and then checks the hash of what was copied. DATA_LOSS when the stored file is
// damaged. The caller syncs.
absl::Status CopyStored(const StoredFile& stored, int to);

}  // namespace cohost::supervisor
