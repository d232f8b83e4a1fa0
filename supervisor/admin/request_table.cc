// SPDX-License-Identifier: Apache-2.0
#include "supervisor/admin/request_table.h"

#include "absl/strings/str_cat.h"

namespace cohost::supervisor {

absl::StatusOr<bool> RequestTable::Join(const Key& key, const std::string& fingerprint,
                                        Waiter waiter) {
  Outcome outcome;
  {
    MutexLock lock(mutex_);
    Forget(clock_.Steady());
    const auto it = entries_.find(key);
    if (it == entries_.end()) {
      if (entries_.size() >= kLimit) {
        return absl::ResourceExhaustedError(
            absl::StrCat(kLimit, " request ids within ten minutes; wait, or call without one"));
      }
      entries_[key].fingerprint = fingerprint;
      return true;
    }
    Entry& entry = it->second;
    if (entry.fingerprint != fingerprint) {
      return absl::InvalidArgumentError(absl::StrCat(
          "request_id '", key.second, "' was used for another call; choose a new one"));
    }
    if (!entry.complete) {
      entry.waiters.push_back(std::move(waiter));
      return false;
    }
    outcome = entry.outcome;
  }
  waiter(outcome);
  return false;
}

void RequestTable::Complete(const Key& key, Outcome outcome) {
  std::vector<Waiter> waiters;
  {
    MutexLock lock(mutex_);
    const auto it = entries_.find(key);
    if (it == entries_.end() || it->second.complete) return;
    it->second.complete = true;
    it->second.outcome = outcome;
    waiters.swap(it->second.waiters);
    completed_.emplace_back(clock_.Steady(), key);
  }
  for (const Waiter& waiter : waiters) waiter(outcome);
}

void RequestTable::Forget(SteadyTime now) {
  while (!completed_.empty() && now - completed_.front().first >= kKept) {
    entries_.erase(completed_.front().second);
    completed_.pop_front();
  }
}

}  // namespace cohost::supervisor
