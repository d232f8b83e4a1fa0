// SPDX-License-Identifier: Apache-2.0
#include "supervisor/deployer/rollout.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace cohost::supervisor {

Rollout::Rollout(Timers& timers, RolloutSettings settings, Done done)
    : settings_(std::move(settings)),
      done_(std::move(done)),
      limit_timer_(timers),
      soak_timer_(timers) {
  limit_timer_.Start(settings_.limit, [this] { Finish(Late()); });
}

std::string Rollout::NameOf(const SlotRollout& slot) const {
  return absl::StrCat(settings_.group, "/", slot.slot);
}

void Rollout::Look() {
  if (done_ == nullptr) return;
  const std::vector<SlotRollout> slots = settings_.slots();
  if (slots.empty()) {
    return Finish(absl::AbortedError(
        "it is not wanted any more: the service was stopped or changed again meanwhile"));
  }
  std::vector<std::string> serving;
  for (const SlotRollout& slot : slots) {
    switch (slot.state) {
      case SlotRollout::State::kFailed:
        return Finish(
            absl::FailedPreconditionError(absl::StrCat("worker ", NameOf(slot), ": ", slot.why)));
      case SlotRollout::State::kServes:
        serving.push_back(NameOf(slot));
        break;
      case SlotRollout::State::kWaiting:
        break;
    }
  }
  if (serving.size() < slots.size()) return soak_timer_.Cancel();
  if (settings_.soak == absl::ZeroDuration() || soaked_) return Finish(std::move(serving));
  if (soak_timer_.running()) return;
  soak_timer_.Start(settings_.soak, [this] {
    soaked_ = true;
    Look();
  });
}

absl::Status Rollout::Late() const {
  std::vector<std::string> waiting;
  for (const SlotRollout& slot : settings_.slots()) {
    if (slot.state == SlotRollout::State::kWaiting) waiting.push_back(NameOf(slot));
  }
  return absl::DeadlineExceededError(absl::StrCat("it does not serve in ",
                                                  absl::StrJoin(waiting, ", "), " after ",
                                                  absl::FormatDuration(settings_.limit)));
}

void Rollout::Finish(absl::StatusOr<std::vector<std::string>> outcome) {
  limit_timer_.Cancel();
  soak_timer_.Cancel();
  // Not a member any more, since it may end this object.
  const Done done = std::exchange(done_, nullptr);
  if (done) done(std::move(outcome));
}

}  // namespace cohost::supervisor
