// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "absl/time/time.h"

namespace cohost::supervisor {

// How a view is to be shown.
struct Look {
  bool colour = false;
  // For ages.
  absl::Time now;
};

}  // namespace cohost::supervisor
