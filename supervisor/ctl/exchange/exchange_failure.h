// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ostream>

#include "absl/status/status.h"
#include "supervisor/ctl/failure.h"

namespace cohost::supervisor {

// The failure of something that cohostctl did by itself: 1 when other arguments or files would
// help, 2 when the system failed (a full disk).
Failure LocalFailure(const absl::Status& status);

// Says it; the exit status.
int Fail(const Failure& failure, std::ostream& errors);

}  // namespace cohost::supervisor
