// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "absl/time/time.h"

namespace cohost::supervisor {

// One-shot timers of the loop. Loop thread only; `fire` runs on the loop thread, never inside
// After.
class Timers {
 public:
  using Id = uint64_t;  // never 0
  virtual ~Timers() = default;
  virtual Id After(absl::Duration delay, std::function<void()> fire) = 0;
  // Nothing for a timer that has fired. A cancelled timer never fires.
  virtual void Cancel(Id id) = 0;
};

// A timer of its owner: starting it again replaces it, ending the owner cancels it. Loop thread
// only; the timers outlive it.
class Timer {
 public:
  explicit Timer(Timers& timers) : timers_(timers) {}
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;
  ~Timer() { Cancel(); }

  void Start(absl::Duration delay, std::function<void()> fire) {
    Cancel();
    id_ = timers_.After(delay, [this, fire = std::move(fire)] {
      id_ = 0;
      // A copy: `fire` may start this timer again or end its owner.
      const std::function<void()> run = fire;
      run();
    });
  }
  void Cancel() {
    if (id_ != 0) timers_.Cancel(std::exchange(id_, 0));
  }
  bool running() const { return id_ != 0; }

 private:
  Timers& timers_;
  Timers::Id id_ = 0;
};

}  // namespace cohost::supervisor
