// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "worker/loop/timer_wheel.h"

namespace cohost::worker {

// What a timer calls; `data` is the callback's own.
struct TimerCall {
  void (*function)(void* data, uint32_t event) = nullptr;
  void* data = nullptr;
  bool on_timer_thread = false;  // for the owner: it promised not to block
};

// Whose timers they are. Outlives the Timers object.
class TimerOwner {
 public:
  virtual ~TimerOwner() = default;
  // Timer thread. These are due: to be run, here or elsewhere, each between Begin and End. Must not
  // block.
  virtual void OnDue(std::span<const uint64_t> timers) = 0;

 private:
  friend class Timers;
  uint32_t timers_ = 0;  // guarded by Timers::mutex_
};

// The timers of all services of this worker: one thread and one wheel of 1 ms ticks; the thread
// sleeps until the next slot that holds a timer, and is started by the first Add. A timer is never
// early, at most a tick and the kernel's wake-up late, and does not run twice at a time.
// Thread-safe. The destructor ends the thread without running anything more.
class Timers {
 public:
  enum class CancelResult { kCancelled, kRunning, kGone };
  static constexpr size_t kMaxTimers = size_t{1} << 20;

  // `clock` outlives it and follows CLOCK_MONOTONIC.
  explicit Timers(const Clock& clock);
  ~Timers();
  Timers(const Timers&) = delete;
  Timers& operator=(const Timers&) = delete;

  // A number that is never 0 and not used again. `period` zero: once. RESOURCE_EXHAUSTED beyond
  // kMaxTimers or when the thread cannot be started.
  absl::StatusOr<uint64_t> Add(TimerOwner& owner, absl::Duration delay, absl::Duration period,
                               TimerCall call);
  // kCancelled: it does not run and will not. kRunning: it is between Begin and End now, for the
  // last time.
  CancelResult Cancel(TimerOwner& owner, uint64_t timer);

  // To be called by the owner for each timer that was due: what to call, or nothing when it was
  // cancelled meanwhile.
  std::optional<TimerCall> Begin(uint64_t timer);
  // The same, but only for those with on_timer_thread.
  std::optional<TimerCall> BeginOnTimerThread(uint64_t timer);
  // After the call; a periodic timer is armed again for its next time that is still to come.
  void End(uint64_t timer);

  // Removes the owner's timers; those that are running end with their End. Returns the calls that
  // will not be made.
  std::vector<TimerCall> TakeAll(TimerOwner& owner);
  // How many the owner has.
  uint32_t count(const TimerOwner& owner) const;

 private:
  enum class State : uint8_t { kFree, kArmed, kDue, kRunning, kRunningLast };
  struct Timer {
    TimerOwner* owner = nullptr;
    TimerCall call;
    int64_t due_ns = 0;
    int64_t period_ns = 0;
    uint32_t generation = 0;
    State state = State::kFree;
  };

  std::optional<TimerCall> Begin(Timer* timer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Run();
  // Hands what is due to its owners, without the lock.
  void Dispatch() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Sleep() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Arm(uint32_t index) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Free(uint32_t index) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Timer* Find(uint64_t timer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  uint64_t IdOf(uint32_t index) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Set in the constructor, never changed.
  const Clock& clock_;

  mutable Mutex mutex_;
  CondVar changed_;
  TimerWheel wheel_ ABSL_GUARDED_BY(mutex_);
  std::deque<Timer> timers_ ABSL_GUARDED_BY(mutex_);
  std::vector<uint32_t> free_ ABSL_GUARDED_BY(mutex_);
  std::vector<uint32_t> due_ ABSL_GUARDED_BY(mutex_);
  uint64_t sleeping_until_ ABSL_GUARDED_BY(mutex_) = 0;  // tick; 0: awake
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace cohost::worker
