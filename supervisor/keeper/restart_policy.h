// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "absl/time/time.h"

namespace cohost::supervisor {

// How long to wait before the next supervisor: the first death costs nothing, repeated ones 100 ms
// doubling to 5 s, so that one which cannot run does not take a core. Pure; one thread.
class RestartPolicy {
 public:
  // After a supervisor that lived for `alive`.
  absl::Duration DelayAfter(absl::Duration alive) {
    // One that lived this long was sound: its death is a new story.
    if (alive >= absl::Seconds(30)) next_ = absl::ZeroDuration();
    const absl::Duration delay = next_;
    next_ = std::clamp(next_ * 2, absl::Milliseconds(100), absl::Seconds(5));
    return delay;
  }

 private:
  absl::Duration next_;
};

}  // namespace cohost::supervisor
