// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "base/mutex.h"
#include "supervisor/dotnet/diagnostics/interrupt.h"

namespace cohost::supervisor {

// Threads for calls that wait for a worker's answers: one a call, few at a time. Thread-safe. The
// destructor interrupts all and waits for them; what they do ends soon after its interrupt.
class SessionThreads {
 public:
  static constexpr size_t kMost = 4;

  SessionThreads() = default;
  ~SessionThreads();
  SessionThreads(const SessionThreads&) = delete;
  SessionThreads& operator=(const SessionThreads&) = delete;

  // Runs `work` on a thread. RESOURCE_EXHAUSTED when kMost run, or the system has no thread.
  absl::Status Start(std::shared_ptr<Interrupt> interrupt, std::function<void()> work);

 private:
  struct Session {
    std::shared_ptr<Interrupt> interrupt;
    std::thread thread;
    bool ended = false;
  };
  void JoinEnded() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::list<Session> sessions_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace cohost::supervisor
