// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "worker/loop/thread_slots.h"

namespace cohost::worker {

// Threads that run service code which may block. None is started before it is needed: one is added
// when a task waits and none is idle, up to a maximum; one that was idle for a while ends.
// Thread-safe. Stop() (or the destructor) runs what is queued and joins; a task that never returns
// keeps it waiting, so a worker that gives up on a hung service exits without destroying its pool.
class HandlerPool {
 public:
  struct Options {
    uint32_t max_threads = 256;
    // Small, so that many threads cost little; the kernel gives pages only when they are touched.
    size_t stack_bytes = 256 << 10;
    absl::Duration idle_limit = absl::Seconds(10);
  };
  struct Statistics {
    uint32_t alive = 0;
    uint32_t busy = 0;
    // Age of the oldest task that waits for a thread; zero: none waits.
    absl::Duration queue_age;
  };

  // `slots` and `clock` outlive the pool.
  HandlerPool(ThreadSlots& slots, const Clock& clock, Options options);
  ~HandlerPool();
  HandlerPool(const HandlerPool&) = delete;
  HandlerPool& operator=(const HandlerPool&) = delete;

  // Runs `task` on one of the threads, in the order of Post. The task marks its own work
  // (ScopedWork). False after Stop, and when not even a first thread can be started: the task will
  // not run.
  bool Post(std::function<void()> task);

  Statistics statistics() const;
  ThreadSlots& slots() { return slots_; }

  // Takes no more tasks, runs those that wait, and joins the threads. Not from a task.
  void Stop();

 private:
  struct Task {
    std::function<void()> run;
    SteadyTime posted;
  };
  struct Thread;

  void Run(Thread& self);
  // False when the calling thread is to end.
  bool WaitForTask() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool AddThread() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static void Join(const std::vector<std::unique_ptr<Thread>>& threads);

  // Set in the constructor, never changed.
  ThreadSlots& slots_;
  const Clock& clock_;
  const Options options_;

  mutable Mutex mutex_;
  CondVar changed_;
  std::deque<Task> queue_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Thread>> threads_ ABSL_GUARDED_BY(mutex_);
  // Threads that take no more tasks and are to be joined.
  std::vector<std::unique_ptr<Thread>> ended_ ABSL_GUARDED_BY(mutex_);
  uint32_t alive_ ABSL_GUARDED_BY(mutex_) = 0;   // will take further tasks
  uint32_t ending_ ABSL_GUARDED_BY(mutex_) = 0;  // will not, and still run
  uint32_t idle_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace cohost::worker
