// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"

namespace cohost::supervisor {

// Remembers the outcome of each mutation by its caller's request_id, so that a repeated call does
// nothing and answers the same. Thread-safe. `clock` outlives it.
class RequestTable {
 public:
  static constexpr absl::Duration kKept = absl::Minutes(10);
  // Sixteen a second for ten minutes: no operator's rate. Forgetting an outcome early would let a
  // repeated call act twice, so a full table refuses instead.
  static constexpr size_t kLimit = 10000;

  struct Outcome {
    absl::Status status;
    // The answer's bytes when the status is OK.
    std::string response;
  };
  // Called once, from the thread that calls Join or Complete.
  using Waiter = std::function<void(const Outcome&)>;
  // Who asked, and the id of his own.
  using Key = std::pair<uid_t, std::string>;

  explicit RequestTable(const Clock& clock) : clock_(clock) {}

  // True: the first call with this key; the caller does the work and then calls Complete. False:
  // not the first; `waiter` gets the outcome, at once or when it is there. INVALID_ARGUMENT when
  // `fingerprint`, which stands for the call and its arguments, is not the first call's;
  // RESOURCE_EXHAUSTED when the table is full.
  absl::StatusOr<bool> Join(const Key& key, const std::string& fingerprint, Waiter waiter);
  void Complete(const Key& key, Outcome outcome);

 private:
  struct Entry {
    std::string fingerprint;
    bool complete = false;
    Outcome outcome;
    std::vector<Waiter> waiters;
  };
  void Forget(SteadyTime now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Clock& clock_;
  Mutex mutex_;
  std::map<Key, Entry> entries_ ABSL_GUARDED_BY(mutex_);
  // Completed ones, oldest first.
  std::deque<std::pair<SteadyTime, Key>> completed_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace cohost::supervisor
