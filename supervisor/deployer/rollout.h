// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "supervisor/loop/timers.h"
#include "supervisor/pool/slot.h"

namespace cohost::supervisor {

struct RolloutSettings {
  // Names of slots begin with it.
  std::string group;
  // The slots that are asked for the revision, as they are now.
  std::function<std::vector<SlotRollout>()> slots;
  // For everything together.
  absl::Duration limit;
  // Every slot must serve for so long without a break.
  absl::Duration soak;
};

// Follows a new revision of a service until it serves in every slot that is asked for it, or until
// that cannot be expected any more. Loop thread only; timers and what `slots` looks at outlive it.
// Ending it early ends it: `done` is not called then.
class Rollout {
 public:
  // The slots that serve, "steady-1/0". FAILED_PRECONDITION when one of them refuses it, saying
  // why; DEADLINE_EXCEEDED after the limit; ABORTED when no slot is asked for it any more. Runs on
  // the loop thread, from a timer or from Look; may end this object.
  using Done = std::function<void(absl::StatusOr<std::vector<std::string>>)>;

  Rollout(Timers& timers, RolloutSettings settings, Done done);
  Rollout(const Rollout&) = delete;
  Rollout& operator=(const Rollout&) = delete;

  // Something has changed.
  void Look();

 private:
  std::string NameOf(const SlotRollout& slot) const;
  void Finish(absl::StatusOr<std::vector<std::string>> outcome);
  // DEADLINE_EXCEEDED naming who is still waited for.
  absl::Status Late() const;

  // Set in the constructor, never changed.
  const RolloutSettings settings_;
  // Loop thread only.
  Done done_;
  Timer limit_timer_;
  Timer soak_timer_;
  bool soaked_ = false;
};

}  // namespace cohost::supervisor
