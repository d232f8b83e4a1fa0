// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "worker/sdk/cohost.h"

namespace cohost::worker::native {

// The table of functions that every module of this process gets. Complete; lives as long as the
// process.
const cohost_host& HostTable();

}  // namespace cohost::worker::native
