// SPDX-License-Identifier: Apache-2.0
#include "supervisor/pool/restart_backoff.h"

#include <algorithm>

namespace cohost::supervisor {

absl::Duration RestartBackoff::DelayAfterFailure(absl::Duration ready_for) {
  if (ready_for >= kGoodBehaviour) failures_ = 0;
  ++failures_;
  if (failures_ == 1) return absl::ZeroDuration();
  // Past seven doublings the cap holds; a larger shift would overflow.
  const uint32_t doublings = std::min<uint32_t>(failures_ - 2, 10);
  const absl::Duration delay = std::min(kCap, kFirst * (uint64_t{1} << doublings));
  const double part = std::uniform_real_distribution<double>(1 - kJitter, 1)(random_);
  return delay * part;
}

}  // namespace cohost::supervisor
