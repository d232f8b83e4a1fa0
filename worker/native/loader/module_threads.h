// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/mutex.h"
#include "worker/loop/thread_slots.h"
#include "worker/sdk/cohost.h"

namespace cohost::worker::native {

// Threads that others depend on and that service code must not block.
enum class ThreadPlace { kOther, kIo, kTimer };

// Where the calling thread is running service code.
ThreadPlace CurrentPlace();

// Sets it for a scope.
class ScopedPlace {
 public:
  explicit ScopedPlace(ThreadPlace place);
  ~ScopedPlace();
  ScopedPlace(const ScopedPlace&) = delete;
  ScopedPlace& operator=(const ScopedPlace&) = delete;

 private:
  const ThreadPlace before_;
};

// thread_enter and thread_leave: what the calling thread did before, kept on the thread. A number
// that was left already, or was made by another thread, changes nothing.
uint64_t EnterService(ThreadSlots& slots, uint32_t row, SteadyTime now);
void LeaveService(uint64_t entered);

// The threads that one service spawned. Thread-safe. Outlives them.
class ModuleThreads {
 public:
  static constexpr size_t kMaxThreads = 256;

  // References outlive the object.
  ModuleThreads(ThreadSlots& slots, uint32_t row, const Clock& clock)
      : slots_(slots), row_(row), clock_(clock) {}
  ~ModuleThreads();

  // As cohost_host.spawn_thread and join_thread.
  cohost_status Spawn(const std::string& name, void (*entry)(void*), void* data,
                      cohost_thread* thread);
  cohost_status Join(cohost_thread thread);

  // How many have not ended. From then on none can be spawned.
  size_t Close();

 private:
  struct Thread {
    std::thread handle;
    bool ended = false;
  };

  void Run(uint64_t id, const std::string& name, void (*entry)(void*), void* data);
  // Those that ended and that nobody joined.
  void Reap() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Set in the constructor, never changed.
  ThreadSlots& slots_;
  const uint32_t row_;
  const Clock& clock_;

  Mutex mutex_;
  CondVar ended_;
  std::map<uint64_t, Thread> threads_ ABSL_GUARDED_BY(mutex_);
  uint64_t last_ ABSL_GUARDED_BY(mutex_) = 0;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace cohost::worker::native
